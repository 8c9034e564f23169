/** All scores. A node's total is the sum of each times its weight. A new score is a file in scores/ and a line here. */
import { allocated } from "./allocated.ts";
import { balance } from "./balance.ts";
import { load } from "./load.ts";
import { preferredAffinity } from "./preferred-affinity.ts";
import { preferredTaints } from "./preferred-taints.ts";
import type { LoadScore, NodeScore, Score } from "./score.ts";

export type { ScoreContext } from "./score.ts";

export const nodeScores: readonly NodeScore[] = [preferredAffinity, preferredTaints];

export const loadScores: readonly LoadScore[] = [allocated, balance, load];

export const scores: readonly Score[] = [...loadScores, ...nodeScores];

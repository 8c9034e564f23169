/** All scores. A node's total is the sum of each times its weight. A new score is a file in scores/ and a line here. */
import { allocated } from "./scores/allocated.ts";
import { balance } from "./scores/balance.ts";
import { load } from "./scores/load.ts";
import { preferredAffinity } from "./scores/preferred-affinity.ts";
import { preferredTaints } from "./scores/preferred-taints.ts";
import type { LoadScore, NodeScore, Score } from "./scores/score.ts";

export const nodeScores: readonly NodeScore[] = [preferredAffinity, preferredTaints];

export const loadScores: readonly LoadScore[] = [allocated, balance, load];

export const scores: readonly Score[] = [...loadScores, ...nodeScores];

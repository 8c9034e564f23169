/** Checks every second the invariants that must always hold. */
import { setTimeout as pause } from "node:timers/promises";
import type { Evidence } from "./evidence.ts";
import type { Storm } from "./fault.ts";
import { notOversold } from "./invariants/not-oversold.ts";
import { oneInstance, rivals } from "./invariants/one-instance.ts";
import { findLive, type LiveProcess, stillLive } from "./live.ts";
import type { Member } from "./member.ts";
import type { Tally } from "./tally.ts";

const periodMs = 1000;
export const partsLive = "no agent or scheduler ends by itself";
export const budgetHeld = "the budget of a set is never exceeded";

/** Starts the checks; the returned function stops them and waits for the last one. */
export function startWatchman(storm: Storm, tally: Tally, round: () => number): () => Promise<void> {
  const stopping = new AbortController();
  const done = watch(storm, tally, round, stopping.signal);
  return async () => {
    stopping.abort();
    await done;
  };
}

async function watch(storm: Storm, tally: Tally, round: () => number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    tally.checked(oneInstance.name, await lookForDoubles(storm.stormId), round());
    const objects = await storm.workload.objects();
    if (objects) tally.checked(notOversold.name, notOversold.judge(only({ objects })), round());
    tally.checked(notOversold.name, await lookForOversold(storm), round());
    tally.checked(budgetHeld, storm.fleet.takeViolations(), round());
    tally.checked(partsLive, await lookAtParts(storm), round());
    await pause(periodMs, undefined, { signal }).catch(() => {});
  }
}

/**
 * A scan of /proc takes a while, so that it may see two runs that follow each other. Duplicates are checked again: if a process of
 * the first run is still alive, it was alive when the second was seen.
 */
async function lookForDoubles(stormId: string): Promise<string[]> {
  const live = await stillLive(rivals(await findLive(stormId)));
  return oneInstance.judge(only({ live }));
}

/** Judges living processes, twice for the same reason: only those that still live can have lived together. */
async function lookForOversold({ stormId, workload }: Storm): Promise<string[]> {
  const judge = (live: LiveProcess[]) =>
    notOversold.judge(only({ live, apps: workload.list(), past: workload.past }));
  const live = await findLive(stormId);
  return judge(live).length > 0 ? judge(await stillLive(live)) : [];
}

async function lookAtParts({ world }: Storm): Promise<string[]> {
  const own: Member[] = [
    ...world.nodes.map(({ agent }) => agent),
    ...world.schedulers.map(({ member }) => member),
  ];
  const complaints: string[] = [];
  for (const member of world.members) {
    const lives = await member.look();
    if (!lives && own.includes(member)) complaints.push(`${member.name} ended by itself (${member.ownEnds})`);
  }
  return complaints;
}

/** Evidence of only one kind. */
function only(part: Partial<Evidence>): Evidence {
  return { objects: [], apps: [], past: [], live: [], stories: [], nodes: [], lines: new Map(), ...part };
}

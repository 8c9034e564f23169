/** Looks every second for what must never be, whatever goes on. */
import { setTimeout as pause } from "node:timers/promises";
import type { Evidence } from "./evidence.ts";
import type { Storm } from "./fault.ts";
import { notOversold } from "./invariants/not-oversold.ts";
import { oneInstance, rivals } from "./invariants/one-instance.ts";
import { findLive, stillLive } from "./live.ts";
import type { Member } from "./member.ts";
import type { Tally } from "./tally.ts";

const periodMs = 1000;
export const partsLive = "no agent or scheduler ends by itself";

/** Starts to look; the returned function ends it and waits for the last look. */
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
    tally.checked(partsLive, await lookAtParts(storm), round());
    await pause(periodMs, undefined, { signal }).catch(() => {});
  }
}

/**
 * A look at /proc takes a while, so that two runs which follow each other may both be seen. Who is seen twice is looked at again:
 * one of the first run that lives even now lived when the second was seen.
 */
async function lookForDoubles(stormId: string): Promise<string[]> {
  const live = await stillLive(rivals(await findLive(stormId)));
  return oneInstance.judge(only({ live }));
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

/** Evidence of one kind alone. */
function only(part: Partial<Evidence>): Evidence {
  return { objects: [], apps: [], past: [], live: [], stories: [], nodes: [], lines: new Map(), ...part };
}

/** The pause after a round: the cluster must settle in time, and then all invariants are checked. */
import { setTimeout as pause } from "node:timers/promises";
import type { Evidence, Invariant } from "./evidence.ts";
import type { Storm } from "./fault.ts";
import { gather, type Sources } from "./gather.ts";
import { atRest, soon } from "./invariants/list.ts";
import type { Tally } from "./tally.ts";

const lookMs = 500;
/** An agent may notice that a launcher was killed at its next look only, after 10 s; until then, output waits in the pipe. */
const triesAtRest = 24;

/** Ends every fault: all programs run and reach each other. */
export async function calm({ world }: Storm): Promise<void> {
  world.gateway.setBusy(false);
  await Promise.all(world.members.map((member) => member.idle()));
  for (const { listener } of [...world.nodes, ...world.schedulers]) listener.open();
  const deadline = Date.now() + 60_000;
  for (let ready = false; !ready; await pause(lookMs)) {
    ready = await world.cluster.request("/readyz").then(({ status }) => status === 200, () => false);
    if (!ready && Date.now() > deadline) {
      throw new Error("the API server is not ready a minute after the last fault");
    }
  }
}

/** Waits until all apps are in their desired state, and checks the invariants; returns how long that took. */
export async function judgeRest(
  sources: Sources,
  tally: Tally,
  { round, convergeMs }: { round: number; convergeMs: number },
): Promise<number> {
  const started = Date.now();
  const left = await wait(sources, soon, started + convergeMs);
  const took = Date.now() - started;
  for (const { invariant, complaints } of left) tally.checked(invariant.name, complaints, round);
  // Logs rotate and grow while they are read: only a violation in every reading counts.
  const broken = await wait(sources, atRest, Date.now() + triesAtRest * lookMs);
  for (const { invariant, complaints } of broken) tally.checked(invariant.name, complaints, round);
  return took;
}

type Verdict = { invariant: Invariant; complaints: string[] };

/** Checks repeatedly until there are no violations or the time is over. */
async function wait(sources: Sources, invariants: Invariant[], deadline: number): Promise<Verdict[]> {
  for (;;) {
    const evidence = await gather(sources);
    const verdicts = invariants.map((invariant) => ({ invariant, complaints: judge(invariant, evidence) }));
    if (verdicts.every(({ complaints }) => complaints.length === 0) || Date.now() > deadline) return verdicts;
    await pause(lookMs);
  }
}

function judge({ judge }: Invariant, evidence: Evidence | undefined): string[] {
  return evidence ? judge(evidence) : ["the API server does not answer"];
}

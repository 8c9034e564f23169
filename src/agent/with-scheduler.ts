/**
 * A scheduler within the agent, for clusters that are too small for one of their own. Several agents may have one: they elect a leader.
 *
 * Guarantees: nothing of it is loaded where it is not asked for. It never ends the agent: a scheduler that breaks is logged and started
 * again, after a second at first and a minute at last; one that may not do its work says so once and waits until it may. Its requests
 * have connections of their own, so that a thousand binds do not hold up a report or a Lease of this node.
 * Caveat: it shares the agent's memory and its one thread.
 */
import { randomUUID } from "node:crypto";
import { defaultSchedulerName } from "../api/names.ts";
import type { KubeAccess } from "../kube/access/access.ts";
import { createKubeClient, type KubeClient, type RequestReport } from "../kube/client/client.ts";
import { type Backoff, createBackoff } from "../lib/backoff.ts";
import { describeError, type Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import type { missingRights } from "../scheduler/serve/serve.ts";
import type { runScheduler } from "../scheduler/scheduler.ts";

export interface WithSchedulerOptions {
  access: KubeAccess;
  nodeName: string;
  version: string;
  log: Logger;
  onRequest?: (report: RequestReport) => void;
  load?: () => Promise<SchedulerParts>;
  /** The delays between two tries, after a breakdown and after a refusal. */
  backoff?: () => Backoff;
  now?: () => number;
}

/** What is loaded when it is needed. */
export interface SchedulerParts {
  runScheduler: typeof runScheduler;
  missingRights: typeof missingRights;
}

/** Binds at the same time, and beside them Leases, reads and status. */
const places = 24;
/** Who has worked for so long did not break down at once. */
const steadyMs = 600_000;

/** Runs a scheduler until the signal aborts, whatever becomes of it. */
export async function runWithScheduler(options: WithSchedulerOptions, signal: AbortSignal): Promise<void> {
  const { log, backoff: newBackoff = standardBackoff, now = Date.now } = options;
  const backoff = newBackoff();
  while (!signal.aborted) {
    const startedAt = now();
    try {
      await runOnce(options, signal);
    } catch (error) {
      log.error("the scheduler in this agent broke down; it is started again", { error });
    }
    if (now() - startedAt >= steadyMs) backoff.reset();
    await sleep(backoff.next(), signal);
  }
}

async function runOnce(options: WithSchedulerOptions, signal: AbortSignal): Promise<void> {
  const { access, nodeName, version, log, onRequest, load = loadParts } = options;
  const { runScheduler, missingRights } = await load();
  const client = createKubeClient(access, { userAgent: `nckubelet-scheduler/${version}`, places, onRequest });
  try {
    await waitForRights(client, missingRights, options, signal);
    if (signal.aborted) return;
    const identity = `${nodeName}_${randomUUID()}`;
    log.info("starting the scheduler in this agent", { identity });
    await runScheduler({
      client,
      log,
      version,
      identity,
      schedulerName: defaultSchedulerName,
      policy: "spread",
      leaderElect: true,
    }, signal);
  } finally {
    client.close();
  }
}

/** Without them six watches and the election would each complain for ever, none of them with what to do about it. */
async function waitForRights(
  client: KubeClient,
  missingRights: SchedulerParts["missingRights"],
  { log, backoff: newBackoff = standardBackoff }: WithSchedulerOptions,
  signal: AbortSignal,
): Promise<void> {
  const backoff = newBackoff();
  let told = "";
  while (!signal.aborted) {
    const why = await missingRights(client, signal).then(
      (missing) => missing.length === 0 ? "" : refusal(missing),
      (error) => `the scheduler in this agent waits for the API server: ${describeError(error)}`,
    );
    if (!why) return;
    if (why !== told && !signal.aborted) log.warn(why);
    told = why;
    await sleep(backoff.next(), signal);
  }
}

function refusal(missing: string[]): string {
  return `--with-scheduler: the API server does not let this agent's user ${missing.join(", ")}: ` +
    "bind the roles nckubelet-scheduler to it (docs/scheduler.md); until then this agent schedules nothing";
}

function standardBackoff(): Backoff {
  return createBackoff({ initialMs: 1000, maxMs: 60_000, jitter: 0.5 });
}

async function loadParts(): Promise<SchedulerParts> {
  const [{ runScheduler }, { missingRights }] = await Promise.all([
    import("../scheduler/scheduler.ts"),
    import("../scheduler/serve/rights.ts"),
  ]);
  return { runScheduler, missingRights };
}

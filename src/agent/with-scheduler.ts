/**
 * A scheduler in the agent, for clusters that are too small for a separate one. Several agents may run one: they elect a leader.
 *
 * Guarantees: it is loaded only with `--with-scheduler`. It never ends the agent: a scheduler that fails is logged and restarted, with a
 * backoff from one second to one minute; one without permissions logs that once and waits until it has them. Its requests use separate
 * connections, so that a thousand binds do not delay a report or a Lease of this node.
 * Caveat: it shares the agent's memory and its single thread.
 */
import { randomUUID } from "node:crypto";
import { defaultSchedulerName } from "../api/names.ts";
import type { KubeAccess } from "../kube/access/access.ts";
import type { KubeClient, RequestReport } from "../kube/client/client.ts";
import { type Backoff, createBackoff } from "../lib/backoff.ts";
import { describeError, type Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { createSchedulerClient } from "../scheduler/client.ts";
import type { missingRights } from "../scheduler/serve/serve.ts";
import type { runScheduler } from "../scheduler/scheduler.ts";

export interface WithSchedulerOptions {
  access: KubeAccess;
  nodeName: string;
  version: string;
  log: Logger;
  onRequest?: (report: RequestReport) => void;
  load?: () => Promise<SchedulerParts>;
  /** The delays between two attempts, after a failure and while permissions are missing. */
  backoff?: () => Backoff;
  now?: () => number;
}

/** The lazily loaded parts. */
export interface SchedulerParts {
  runScheduler: typeof runScheduler;
  missingRights: typeof missingRights;
}

/** A scheduler that ran for this long resets the backoff. */
const stableMs = 600_000;

export async function runWithScheduler(options: WithSchedulerOptions, signal: AbortSignal): Promise<void> {
  const { log, backoff: newBackoff = standardBackoff, now = Date.now } = options;
  const backoff = newBackoff();
  while (!signal.aborted) {
    const startedAt = now();
    try {
      await runOnce(options, signal);
    } catch (error) {
      log.error("the scheduler in this agent failed; restarting it", { error });
    }
    if (now() - startedAt >= stableMs) backoff.reset();
    await sleep(backoff.next(), signal);
  }
}

async function runOnce(options: WithSchedulerOptions, signal: AbortSignal): Promise<void> {
  const { access, nodeName, version, log, onRequest, load = loadParts } = options;
  const { runScheduler, missingRights } = await load();
  const client = createSchedulerClient(access, { version, onRequest });
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

/** Without the permissions, six watches and the election would log errors forever. */
async function waitForRights(
  client: KubeClient,
  missingRights: SchedulerParts["missingRights"],
  { log, backoff: newBackoff = standardBackoff }: WithSchedulerOptions,
  signal: AbortSignal,
): Promise<void> {
  const backoff = newBackoff();
  let logged = "";
  while (!signal.aborted) {
    const why = await missingRights(client, signal).then(
      (missing) => missing.length === 0 ? "" : refusal(missing),
      (error) => `the scheduler in this agent is waiting for the API server: ${describeError(error)}`,
    );
    if (!why) return;
    if (why !== logged && !signal.aborted) log.warn(why);
    logged = why;
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

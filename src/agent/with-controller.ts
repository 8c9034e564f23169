/**
 * The cluster's controllers in the agent, for clusters that are too small for a separate process. Several agents may run them: they
 * elect a leader.
 *
 * Guarantees: they are loaded only with `--with-controller`. They never end the agent: when one fails, that is logged and all are
 * restarted, with a backoff from one second to one minute; without permissions they log that once and wait until they have them. Their
 * requests use separate connections, so that a thousand binds do not delay a report or a Lease of this node.
 * Caveat: they share the agent's memory and its single thread.
 */
import { randomUUID } from "node:crypto";
import { defaultSchedulerName } from "../api/names.ts";
import type * as controller from "../controller/controller.ts";
import type * as accessReview from "../kube/access-review.ts";
import type { KubeAccess } from "../kube/access/access.ts";
import type { RequestReport } from "../kube/client/client.ts";
import { type Backoff, createBackoff } from "../lib/backoff.ts";
import { describeError, type Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { createSchedulerClient } from "../scheduler/client.ts";

export interface WithControllerOptions {
  controllers?: "all" | controller.ControllerName;
  access: KubeAccess;
  nodeName: string;
  version: string;
  log: Logger;
  onRequest?: (report: RequestReport) => void;
  load?: () => Promise<ControllerParts>;
  /** The delays between two attempts, after a failure and while permissions are missing. */
  backoff?: () => Backoff;
  now?: () => number;
}

/** The lazily loaded parts. */
export type ControllerParts =
  & Pick<typeof controller, "usualControllers" | "createControllers" | "runControllers" | "rightsOf">
  & Pick<typeof accessReview, "missingRights">;

/** Controllers that ran for this long reset the backoff. */
const stableMs = 600_000;

export async function runWithController(options: WithControllerOptions, signal: AbortSignal): Promise<void> {
  const { log, backoff: newBackoff = standardBackoff, now = Date.now } = options;
  const backoff = newBackoff();
  while (!signal.aborted) {
    const startedAt = now();
    try {
      await runOnce(options, signal);
    } catch (error) {
      log.error("the controller in this agent failed; restarting it", { error });
    }
    if (now() - startedAt >= stableMs) backoff.reset();
    await sleep(backoff.next(), signal);
  }
}

async function runOnce(options: WithControllerOptions, signal: AbortSignal): Promise<void> {
  const { access, nodeName, version, log, onRequest, load = loadParts } = options;
  const { usualControllers, createControllers, runControllers, rightsOf, missingRights } = await load();
  const { controllers = "all" } = options;
  const names = controllers === "all" ? usualControllers : [controllers];
  const client = createSchedulerClient(access, { version, onRequest });
  try {
    const identity = `${nodeName}_${randomUUID()}`;
    const settings = {
      client,
      log,
      version,
      identity,
      schedulerName: defaultSchedulerName,
      policy: "spread",
      leaderElect: true,
    } as const;
    const elected = await createControllers(names, settings);
    await waitForRights(() => missingRights(client, rightsOf(elected), signal), options, signal);
    if (signal.aborted) return;
    log.info("starting the controller in this agent", { controllers: names.join(","), identity });
    await runControllers(elected, settings, signal);
  } finally {
    client.close();
  }
}

/** Without the permissions, all watches and the election would log errors forever. */
async function waitForRights(
  missing: () => Promise<string[]>,
  { log, backoff: newBackoff = standardBackoff }: WithControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const backoff = newBackoff();
  let logged = "";
  while (!signal.aborted) {
    const why = await missing().then(
      (missing) => missing.length === 0 ? "" : refusal(missing),
      (error) => `the controller in this agent is waiting for the API server: ${describeError(error)}`,
    );
    if (!why) return;
    if (why !== logged && !signal.aborted) log.warn(why);
    logged = why;
    await sleep(backoff.next(), signal);
  }
}

function refusal(missing: string[]): string {
  return `--with-controller: the API server does not let this agent's user ${missing.join(", ")}: ` +
    "bind the roles nckubelet-scheduler and nckubelet-sets to it, and take it out of the groups of agents, which the admission policies " +
    "restrict to their own node (docs/scheduler.md); until then this agent runs no controller";
}

function standardBackoff(): Backoff {
  return createBackoff({ initialMs: 1000, maxMs: 60_000, jitter: 0.5 });
}

async function loadParts(): Promise<ControllerParts> {
  const [controller, { missingRights }] = await Promise.all([
    import("../controller/controller.ts"),
    import("../kube/access-review.ts"),
  ]);
  return { ...controller, missingRights };
}

/**
 * Decides whether the Node is Ready, by the checks of the node itself.
 *
 * It changes only after the checks have disagreed with it for `holdMs` without a break: a disk that is full for a moment, or has space
 * for a moment, must not make the Node flap. Only the first result counts at once, so that an agent that restarts on a broken node
 * does not report it Ready first. The message stays as it was at the change, since every new number would be another write
 * to the Node; `/readyz` has the current one.
 */
import type { Logger } from "../../lib/log.ts";
import { steadyNow } from "../../lib/time.ts";
import type { Check } from "../../server/view.ts";
import type { Sync } from "../../sync/sync.ts";
import type { AgentOptions } from "../options.ts";
import { syncCheck } from "./checks.ts";
import type { DiskCheck } from "./disk-check.ts";

export interface Readiness {
  /** Evaluates the checks again; to be called every few seconds. */
  update(): void;
  ready(): { ready: boolean; message: string };
}

export interface ReadinessOptions {
  log: Logger;
  holdMs: number;
  now?: () => number;
}

interface State {
  ready: boolean;
  message: string;
  disagreeSince?: number;
}

const maxHoldMs = 30_000;
const fine: State = { ready: true, message: "nckubelet runs apps" };

/** Judges the node by its disk and its sync loop; problems of the API server or of a manifest do not make it less able to run apps. */
export function createNodeReadiness(
  { log, syncPeriodMs }: Pick<AgentOptions, "log" | "syncPeriodMs">,
  { disk, sync, startedAt }: { disk: DiskCheck; sync: Sync; startedAt: Date },
): Readiness {
  const checks = () => [
    disk.result(),
    syncCheck(sync.lastSync() ?? startedAt.getTime(), Date.now(), syncPeriodMs),
  ];
  return createReadiness(checks, { log, holdMs: Math.min(3 * syncPeriodMs, maxHoldMs) });
}

export function createReadiness(
  checks: () => Check[],
  { log, holdMs, now = steadyNow }: ReadinessOptions,
): Readiness {
  let state: State | undefined;
  return {
    update() {
      const before = state ?? fine;
      state = step(state, judge(checks()), now(), holdMs);
      if (before.ready && !state.ready) log.warn("the node is not ready", { why: state.message });
      if (!before.ready && state.ready) log.info("the node is ready again");
    },
    ready() {
      const { ready, message } = state ?? fine;
      return { ready, message };
    },
  };
}

function step(before: State | undefined, found: State, now: number, holdMs: number): State {
  if (!before) return found;
  if (before.ready === found.ready) return { ...before, disagreeSince: undefined };
  const { disagreeSince = now } = before;
  return now - disagreeSince >= holdMs ? found : { ...before, disagreeSince };
}

function judge(checks: Check[]): State {
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length === 0) return fine;
  return { ready: false, message: failed.map(({ name, message }) => `${name}: ${message}`).join("; ") };
}

/**
 * Adds our finalizer to bound apps, and removes it from deleted ones that no node holds any more; releases moved apps from nodes that
 * are lost or gone. `state/holding` decides; this file knows which nodes are present and writes.
 */
import { createKeyedWriter } from "../../report/keyed-writer.ts";
import { type HoldStep, mayHaveHoldStep, nextHoldStep, type NodePresence } from "../state/state.ts";
import type { SchedulerApp } from "../types.ts";
import type { AppChange } from "./app-writes.ts";
import type { LeaderContext } from "./context.ts";

export interface FinalizerWriter {
  /** An app is new or has changed. */
  check(app: SchedulerApp): void;
  /** The health of nodes may have changed. */
  tick(): void;
}

export interface FinalizerWriterOptions extends LeaderContext {
  presenceOf: (app: SchedulerApp, node: string) => NodePresence;
}

export function createFinalizerWriter(options: FinalizerWriterOptions): FinalizerWriter {
  const { writes, log, cluster, presenceOf, mayWrite, signal, now = Date.now } = options;
  /** The keys of apps that may have a step, now or later. */
  const watched = new Set<string>();
  const stepOf = (app: SchedulerApp) => nextHoldStep(app, (node) => presenceOf(app, node), now());

  const writer = createKeyedWriter<string>({
    what: "finalizers of apps",
    log,
    maxInFlight: 4,
    due(key) {
      const app = cluster.apps.get(key);
      // The Lease expires a moment before the signal aborts: a step that may not be written must not be due, or it is retried endlessly.
      return app && mayWrite() && stepOf(app) ? { at: 0, urgent: true } : undefined;
    },
    async write(key) {
      const app = cluster.apps.get(key);
      let step: HoldStep | undefined;
      const decide = (newest: SchedulerApp): AppChange | undefined => {
        step = mayWrite() ? stepOf(newest) : undefined;
        if (step?.kind === "release") return { status: { nodeName: "" } };
        // Without any, a deleted app is gone.
        return step && { metadata: { finalizers: step.finalizers.length > 0 ? step.finalizers : null } };
      };
      if (!app || !await writes.update(app, decide) || !step) return "skipped";
      if (app.deleting || step.kind === "release") log.info("released an app", { app: key, why: step.why });
      const isGone = app.deleting && step.kind === "finalizers" && step.finalizers.length === 0;
      if (isGone) cluster.apps.forget(key, app.uid);
    },
  });
  signal.addEventListener("abort", writer.close, { once: true });

  const check = (app: SchedulerApp) => {
    if (mayHaveHoldStep(app)) watched.add(app.key);
    else if (!watched.delete(app.key)) return;
    writer.schedule(app.key);
  };
  for (const app of cluster.apps) check(app);

  return {
    check,
    tick() {
      for (const key of watched) {
        const app = cluster.apps.get(key);
        if (app && mayHaveHoldStep(app)) writer.schedule(key);
        else watched.delete(key);
      }
    },
  };
}

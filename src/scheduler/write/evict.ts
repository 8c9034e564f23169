/** Unbinds apps from their nodes: for apps of higher priority, because a node is lost, because of a taint, or with their Pods. */
import type { LeaderContext } from "./context.ts";
import { eventTarget, type SchedulerApp } from "../types.ts";

export interface Evictor {
  /** Unbinds an app from `app.nodeName` and reports why. Returns false if it was not unbound; never throws. */
  evict(app: SchedulerApp, reason: EvictionReason, message: string): Promise<boolean>;
}

export type EvictionReason = "Preempted" | "NodeLost" | "TaintEviction" | "PodEvicted";

export interface EvictorOptions extends LeaderContext {
  /** An app was unbound because of a taint or with its Pod: its next node may do so, too. */
  onNodeEviction: (key: string) => void;
  /** An app was unbound from a lost node, which may have left its Pod. */
  releasePod: (app: SchedulerApp) => void;
}

export function createEvictor(options: EvictorOptions): Evictor {
  const { writes, log, writer, recorder, metrics, mayWrite, onNodeEviction, releasePod, signal } = options;
  const busy = new Set<string>();

  const report = (app: SchedulerApp, reason: EvictionReason, message: string) => {
    metrics.evicted(reason);
    writer.write(app.key, { kind: "unbound", reason, message });
    recorder.record(eventTarget(app), { type: "Warning", reason, message });
    log.info("unbound an app", { app: app.key, node: app.nodeName, reason, message });
  };

  return {
    async evict(app, reason, message) {
      if (busy.has(app.key)) return false;
      busy.add(app.key);
      try {
        // A running app's status changes every few seconds. The eviction stays valid as long as its spec does not change.
        const done = await writes.update(
          app,
          (newest) => isUnchanged(app, newest) && mayWrite() ? { spec: { nodeName: null } } : undefined,
        );
        if (!done) return false;
        report(app, reason, message);
        if (reason === "TaintEviction" || reason === "PodEvicted") onNodeEviction(app.key);
        if (reason === "NodeLost") releasePod(app);
        return true;
      } catch (error) {
        if (!signal.aborted) log.warn("cannot unbind an app", { app: app.key, error });
        return false;
      } finally {
        busy.delete(app.key);
      }
    },
  };
}

function isUnchanged(app: SchedulerApp, newest: SchedulerApp): boolean {
  return newest.uid === app.uid && newest.generation === app.generation &&
    newest.nodeName !== undefined && newest.nodeName === app.nodeName;
}

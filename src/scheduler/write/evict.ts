/** Unbinds apps from their nodes: for apps of higher priority, because a node is lost, or because of a taint. */
import type { KubeClient } from "../../kube/client/client.ts";
import type { Logger } from "../../lib/log.ts";
import type { EventRecorder } from "../../report/events/events.ts";
import { readAppNow, unbindApp } from "./bind.ts";
import type { SchedulerMetrics } from "../metrics.ts";
import type { StatusWriter } from "./status-writer.ts";
import { eventTarget, type SchedulerApp } from "../types.ts";
import type { ClusterState } from "../state/state.ts";

export interface Evictor {
  /** Unbinds an app from `app.nodeName` and reports why. Returns false if it was not unbound; never throws. */
  evict(app: SchedulerApp, reason: EvictionReason, message: string): Promise<boolean>;
}

const maxTries = 3;

export type EvictionReason = "Preempted" | "NodeLost" | "TaintEviction";

export interface EvictorOptions {
  client: KubeClient;
  log: Logger;
  cluster: ClusterState;
  writer: StatusWriter;
  recorder: EventRecorder;
  metrics: SchedulerMetrics;
  /** Called right before each write. */
  mayWrite: () => boolean;
  /** An app was unbound because of a taint. */
  onTaintEviction: (key: string) => void;
  signal: AbortSignal;
}

export function createEvictor(options: EvictorOptions): Evictor {
  const { client, log, cluster, writer, recorder, metrics, mayWrite, onTaintEviction, signal } = options;
  const busy = new Set<string>();

  const report = (app: SchedulerApp, reason: EvictionReason, message: string) => {
    metrics.evicted(reason);
    writer.write(app.key, { kind: "unbound", reason, message });
    recorder.record(eventTarget(app), { type: "Warning", reason, message });
    log.info("unbound an app", { app: app.key, node: app.nodeName, reason, message });
  };

  const unbind = async (app: SchedulerApp, reason: EvictionReason, message: string): Promise<boolean> => {
    const result = await unbindApp(client, app, { signal });
    if (result.kind === "done") {
      cluster.apps.applyAnswer(result.object);
      report(app, reason, message);
      if (reason === "TaintEviction") onTaintEviction(app.key);
      return true;
    }
    if (result.kind === "refused") throw result.error;
    const object = await readAppNow(client, app, { signal });
    if (object) cluster.apps.applyAnswer(object);
    else cluster.apps.remove(app.key, app.uid);
    return false;
  };

  return {
    async evict(app, reason, message) {
      if (busy.has(app.key)) return false;
      busy.add(app.key);
      try {
        // A running app's status changes every few seconds. The eviction stays valid as long as its spec does not change.
        for (let current: SchedulerApp | undefined = app, tries = 0; tries < maxTries; tries++) {
          if (!isUnchanged(app, current) || !mayWrite()) return false;
          if (await unbind(current, reason, message)) return true;
          current = cluster.apps.get(app.key);
        }
      } catch (error) {
        if (!signal.aborted) log.warn("cannot unbind an app", { app: app.key, error });
      } finally {
        busy.delete(app.key);
      }
      return false;
    },
  };
}

function isUnchanged(app: SchedulerApp, current: SchedulerApp | undefined): current is SchedulerApp {
  return current !== undefined && current.uid === app.uid && current.generation === app.generation &&
    current.nodeName !== undefined && current.nodeName === app.nodeName;
}

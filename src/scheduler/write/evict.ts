/** Takes apps off their nodes: for others of higher priority, off lost nodes, and for taints. */
import type { KubeClient } from "../../kube/client/client.ts";
import type { Logger } from "../../lib/log.ts";
import type { EventRecorder } from "../../report/events/events.ts";
import { readAppNow, unbindApp } from "./bind.ts";
import { eventTarget } from "./event-target.ts";
import type { SchedulerMetrics } from "../serve/serve.ts";
import type { StatusWriter } from "./status-writer.ts";
import type { AppRecord } from "../types.ts";
import type { World } from "../state/state.ts";

export interface Evictor {
  /** Unbinds an app from the node that it is on in `app`, and tells why; false where that did not come about. Never throws. */
  evict(app: AppRecord, reason: EvictionReason, message: string): Promise<boolean>;
}

const maxTries = 3;

export type EvictionReason = "Preempted" | "NodeLost" | "TaintEviction";

export interface EvictorOptions {
  client: KubeClient;
  log: Logger;
  world: World;
  writer: StatusWriter;
  recorder: EventRecorder;
  metrics: SchedulerMetrics;
  /** Asked right before the write. */
  mayWrite: () => boolean;
  signal: AbortSignal;
}

export function createEvictor(options: EvictorOptions): Evictor {
  const { client, log, world, writer, recorder, metrics, mayWrite, signal } = options;
  const busy = new Set<string>();

  const tell = (app: AppRecord, reason: EvictionReason, message: string) => {
    metrics.evicted(reason);
    writer.put(app.key, { kind: "unbound", reason, message });
    recorder.record(eventTarget(app), { type: "Warning", reason, message });
    log.info("unbound an app", { app: app.key, node: app.nodeName, reason, message });
  };

  const unbind = async (app: AppRecord, reason: EvictionReason, message: string): Promise<boolean> => {
    const result = await unbindApp(client, app, { signal });
    if (result.kind === "done") {
      world.applyAnswer(result.object);
      tell(app, reason, message);
      return true;
    }
    if (result.kind === "refused") throw result.error;
    const object = await readAppNow(client, app, { signal });
    if (object) world.applyAnswer(object);
    else world.removeApp(app.key, app.uid);
    return false;
  };

  return {
    async evict(app, reason, message) {
      if (busy.has(app.key)) return false;
      busy.add(app.key);
      try {
        // A running app's status changes every few seconds; as long as its spec does not, it is the same to whoever wants it gone.
        for (let now: AppRecord | undefined = app, tries = 0; tries < maxTries; tries++) {
          if (!isStill(app, now) || !mayWrite()) return false;
          if (await unbind(now, reason, message)) return true;
          now = world.app(app.key);
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

function isStill(app: AppRecord, now: AppRecord | undefined): now is AppRecord {
  return now !== undefined && now.uid === app.uid && now.generation === app.generation &&
    now.nodeName !== undefined && now.nodeName === app.nodeName;
}

/**
 * Sends binds to the API server.
 *
 * Guarantees: after any answer, or none, the app ends up as the API server has it. A bind whose answer was lost keeps its share of
 * the node until the app was read again.
 */
import { nodeFinalizer } from "../../api/names.ts";
import { isOutdated, KubeError, wasRejected } from "../../kube/kube-error.ts";
import { createBackoff } from "../../lib/backoff.ts";
import { sleep } from "../../lib/sleep.ts";
import type { LeaderContext } from "./context.ts";
import type { DeferredWork } from "./deferred-work.ts";
import type { WrittenCaps } from "../namespaces/namespaces.ts";
import { eventTarget, type SchedulerApp } from "../types.ts";

export interface Binder {
  readonly inFlight: number;
  /** Counts the app on the node at once and binds it. Resolves when the outcome is known; never throws. */
  bind(app: SchedulerApp, node: string, defaults: WrittenCaps): Promise<void>;
}

export interface BinderOptions extends LeaderContext {
  /** For the status: by the time it runs the node's agent has usually reported the bind, and there is nothing to write. */
  deferred: DeferredWork;
  /** For events, which no other component reports. */
  deferredEvents: DeferredWork;
  /** The bind failed: the app still has no node. */
  onUnbound: (key: string) => void;
}

export function createBinder(options: BinderOptions): Binder {
  const { writes, log, cluster, writer, recorder, metrics, mayWrite, onUnbound, signal } = options;
  const { deferred, deferredEvents, now = Date.now } = options;
  let inFlight = 0;

  /** Writes the default caps of the namespace with it, and the finalizer that keeps the app until it has stopped. */
  const send = async (app: SchedulerApp, node: string, defaults: WrittenCaps) => {
    // The agent may start the app before the answer arrives: `kubectl describe` sorts events by time.
    const at = now();
    const finalizers = app.finalizers.includes(nodeFinalizer)
      ? undefined
      : [...app.finalizers, nodeFinalizer];
    try {
      await writes.patch(app, { metadata: { finalizers }, spec: { nodeName: node, ...defaults } });
    } catch (error) {
      return await failed(app, node, error);
    }
    metrics.wrote("done");
    deferred.add(() => writer.write(app.key, { kind: "bound", node }));
    const message = `Successfully assigned ${app.key} to ${node}`;
    const news = { type: "Normal", reason: "Scheduled", message, at } as const;
    deferredEvents.add(() => recorder.record(eventTarget(app), news));
  };

  const failed = async (app: SchedulerApp, node: string, error: unknown) => {
    if (!(error instanceof KubeError)) throw error;
    const isRefused = wasRejected(error) && !isOutdated(error);
    metrics.wrote(isRefused ? "refused" : isOutdated(error) ? "outdated" : "unknown");
    if (!isRefused) return await readUntilAnswered(app);
    const message = `the API server rejected the bind to node ${node}: ${error.message}`;
    recorder.record(eventTarget(app), { type: "Warning", reason: "FailedScheduling", message });
    log.warn("the API server rejected a bind", { app: app.key, node, error });
  };

  /** Reads the app until the API server answers: only that shows whether the bind happened. */
  const readUntilAnswered = async (app: SchedulerApp) => {
    const backoff = createBackoff({ initialMs: 500, maxMs: 10_000, jitter: 0.5 });
    while (!signal.aborted) {
      try {
        return void await writes.refresh(app);
      } catch (error) {
        if (!signal.aborted) {
          log.warn("cannot read an app after its bind; retrying", { app: app.key, error });
        }
      }
      await sleep(backoff.next(), signal);
    }
  };

  return {
    get inFlight() {
      return inFlight;
    },
    async bind(app, node, defaults) {
      cluster.apps.assume(app, node);
      inFlight++;
      try {
        if (mayWrite()) await send(app, node, defaults);
      } catch (error) {
        log.error("a bind failed", { app: app.key, node, error });
      } finally {
        inFlight--;
        cluster.apps.forgetAssumed(app.key);
        const current = cluster.apps.get(app.key);
        if (current && !current.nodeName) onUnbound(app.key);
      }
    },
  };
}

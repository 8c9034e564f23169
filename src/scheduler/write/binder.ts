/**
 * Sends the binds that were decided.
 *
 * Guarantees: whatever the answer, or if there is none, the app ends up as the API server has it: a bind whose answer was lost keeps
 * its place on the node until the app was read again.
 */
import type { KubeClient } from "../../kube/client/client.ts";
import { createBackoff } from "../../lib/backoff.ts";
import type { Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";
import type { EventRecorder } from "../../report/events/events.ts";
import { bindApp, readAppNow } from "./bind.ts";
import { eventTarget } from "./event-target.ts";
import type { Late } from "./deferred.ts";
import type { WrittenCaps } from "../namespaces/namespaces.ts";
import type { SchedulerMetrics } from "../serve/serve.ts";
import type { StatusWriter } from "./status-writer.ts";
import type { AppRecord } from "../types.ts";
import type { World } from "../state/state.ts";

export interface Binder {
  readonly inFlight: number;
  /** Binds the app; counts on its node from now on. Resolves when it is known what became of it; never throws. */
  bind(app: AppRecord, node: string, defaults: WrittenCaps): Promise<void>;
}

export interface BinderOptions {
  client: KubeClient;
  log: Logger;
  world: World;
  writer: StatusWriter;
  recorder: EventRecorder;
  metrics: SchedulerMetrics;
  late: Late;
  /** Asked right before the write. */
  mayWrite: () => boolean;
  /** The app still has no node: it is to be tried again. */
  onUnbound: (key: string) => void;
  signal: AbortSignal;
}

export function createBinder(options: BinderOptions): Binder {
  const { client, log, world, writer, recorder, metrics, late, mayWrite, onUnbound, signal } = options;
  let inFlight = 0;

  const send = async (app: AppRecord, node: string, defaults: WrittenCaps) => {
    const result = await bindApp(client, app, node, defaults, { signal });
    metrics.wrote(result.kind);
    if (result.kind === "done") {
      world.applyAnswer(result.object);
      // By then the node's agent has mostly said so itself, and there is nothing to write.
      late.add(() => {
        writer.put(app.key, { kind: "bound", node });
        const message = `Successfully assigned ${app.key} to ${node}`;
        recorder.record(eventTarget(app), { type: "Normal", reason: "Scheduled", message });
      });
      return;
    }
    if (result.kind === "refused") {
      const message = `binding to ${node} was refused: ${result.error.message}`;
      recorder.record(eventTarget(app), { type: "Warning", reason: "FailedScheduling", message });
      log.warn("a bind was refused", { app: app.key, node, error: result.error });
    } else await lookAgain(app);
    world.forgetAssumed(app.key);
  };

  /** Reads the app until there is an answer: only that tells whether the bind came about. */
  const lookAgain = async (app: AppRecord) => {
    const backoff = createBackoff({ initialMs: 500, maxMs: 10_000, jitter: 0.5 });
    while (!signal.aborted) {
      try {
        const object = await readAppNow(client, app, { signal });
        return object ? world.applyAnswer(object) : world.removeApp(app.key, app.uid);
      } catch (error) {
        if (!signal.aborted) {
          log.warn("cannot read an app after its bind; trying again", { app: app.key, error });
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
      world.assume(app, node);
      inFlight++;
      try {
        if (mayWrite()) await send(app, node, defaults);
      } catch (error) {
        log.error("a bind failed", { app: app.key, node, error });
      } finally {
        inFlight--;
        world.forgetAssumed(app.key);
        const now = world.app(app.key);
        if (now && !now.nodeName) onUnbound(app.key);
      }
    },
  };
}

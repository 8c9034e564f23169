/**
 * Reports that this node has let an app go: it was unbound or moved, and its last process has ended. Until then `status.nodeName`
 * names this node, the scheduler counts its share here, and no other agent starts it.
 *
 * Guarantees: a release is written only to the object with the given uid, while it is bound elsewhere and `status.nodeName` is still
 * this node, with the resourceVersion of the version that was checked. It is retried until the server has it, or the object is gone,
 * bound to this node again, or held by another node.
 */
import { withoutRunConditions, withoutRunFields, withTransitionTime } from "../../api/conditions.ts";
import { appKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Condition, NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf, writeNewest } from "../../kube/guarded-write.ts";
import { ncapps } from "../../kube/resources.ts";
import type { Logger } from "../../lib/log.ts";
import { isoSeconds } from "../../lib/time.ts";
import { type Clock, systemClock } from "../clock.ts";
import { createKeyedWriter } from "../keyed-writer.ts";
import type { ReportTarget } from "./send-status.ts";

export interface Releases {
  /** The app is no longer bound to this node, and its processes are being stopped. */
  stopping(app: ReportTarget): void;
  /** Nothing of the app is left on this node. */
  stopped(app: ReportTarget): void;
  /** The app is bound to this node again. */
  cancel(uid: string): void;
  serverAnswered(): void;
  flush(timeoutMs: number): Promise<void>;
  close(): void;
}

export interface ReleasesOptions {
  client: KubeClient;
  node: string;
  log: Logger;
  clock?: Clock;
}

export function createReleases(options: ReleasesOptions): Releases {
  const { client, node, log, clock = systemClock } = options;
  /** `done`: the server has what there is to write so far. `gone`: so is the object, and there will be nothing more. */
  const entries = new Map<
    string,
    { target: ReportTarget; stopped: boolean; done: boolean; gone?: boolean }
  >();

  const writer = createKeyedWriter<string>({
    what: "releases of apps",
    appOf: (uid) => {
      const { namespace, name } = entries.get(uid)?.target ?? { namespace: "", name: uid };
      return appKey(namespace, name);
    },
    log,
    maxInFlight: 2,
    clock,
    due: (uid) => entries.get(uid)?.done === false ? { at: 0, urgent: true } : undefined,
    async write(uid, { signal }) {
      const entry = entries.get(uid)!;
      const { target, stopped } = entry;
      const objects = objectsOf<NCApp>(client, ncapps, { priority: "high", signal });
      await writeNewest<NCApp, void>(undefined, {
        read: () => objects.read(target),
        async write(app) {
          entry.gone = app === undefined;
          const status = app?.metadata.uid === uid
            ? releasePatch(app, node, { stopped, now: clock.wall() })
            : undefined;
          // It may have been bound to this node again meanwhile.
          if (!status || entries.get(uid) !== entry) return;
          await objects.patch({ ...app!.metadata, subresource: "status" }, { status });
        },
        signal,
      });
      if (entries.get(uid) !== entry || entry.stopped !== stopped) return;
      if (stopped) entries.delete(uid);
      else entry.done = true;
    },
  });

  const set = (target: ReportTarget, stopped: boolean) => {
    const { namespace, name, uid } = target;
    const known = entries.get(uid);
    if (known?.gone && stopped) return void entries.delete(uid);
    if (known && (known.gone || known.stopped || known.stopped === stopped)) return;
    if (known) Object.assign(known, { stopped, done: false });
    else entries.set(uid, { target: { namespace, name, uid }, stopped, done: false });
    writer.schedule(uid);
  };

  return {
    stopping: (app) => set(app, false),
    stopped: (app) => set(app, true),
    cancel(uid) {
      if (entries.delete(uid)) writer.forget(uid);
    },
    serverAnswered: writer.serverAnswered,
    flush: writer.flush,
    close: writer.close,
  };
}

/**
 * Returns the status patch by which a node stops holding an app; undefined if it has nothing to write. An app that was moved is
 * reported by its new agent, and what a scheduler wrote about an unbound one stays. Pure.
 */
export function releasePatch(
  { spec, status = {}, metadata }: NCApp,
  node: string,
  { stopped, now }: { stopped: boolean; now: number },
): object | undefined {
  if (spec.nodeName === node || status.nodeName !== node) return undefined;
  const release = stopped ? { nodeName: "" } : undefined;
  const isReported = spec.nodeName || status.phase === "Pending" && !isReady(status.conditions);
  if (isReported) return release;
  const phase = stopped ? "Pending" : "Stopping";
  const message = stopped
    ? `spec.nodeName was removed, and the app has stopped on node ${node}`
    : `spec.nodeName was removed: stopping on node ${node}`;
  const reported = { reason: "Unbound" satisfies Reason, message, observedGeneration: metadata.generation };
  const conditions = ([["Scheduled", "False"], ["Ready", "False"], ["Reconciling", "True"]] as const).reduce(
    (list, [type, status]) => withCondition(list, { type, status, ...reported }, isoSeconds(now)),
    withoutRunConditions(status.conditions ?? []),
  );
  return { ...release, phase, ...reported, ready: false, ...(stopped ? withoutRunFields : {}), conditions };
}

function isReady(conditions: Condition[] = []): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function withCondition(list: Condition[], next: Condition, now: string): Condition[] {
  const dated = withTransitionTime(next, list, now);
  return list.some(({ type }) => type === next.type)
    ? list.map((condition) => condition.type === next.type ? dated : condition)
    : [...list, dated];
}

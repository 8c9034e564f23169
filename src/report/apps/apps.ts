/**
 * Reports the apps of this node to the API server: status and events to the NCApp of each, which for a local app is its mirror, and
 * a Pod that shows it. The writers are rooms of their own: status, events, mirrors and pods. server-apps.ts knows what the API
 * server has, and releases apps that leave this node.
 *
 * Guarantees: a mirror that is found, which any user may delete, gets the last status of its app, even if that does not change any
 * more, and the earlier events with the times at which they happened.
 * Caveat: only the last ten events of an app without a mirror are kept.
 *
 * Status, events, mirrors and Pods are written only while this agent acts for its node; events also until that is decided: what it
 * finds when it starts has happened in any case.
 */
import { agentComponent, isMirrorOf, keyOf } from "../../api/names.ts";
import { disruptionCondition } from "../../api/conditions.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Condition, NCApp, NCAppStatus } from "../../api/types.ts";
import { sleep } from "../../lib/sleep.ts";
import { systemClock } from "../clock.ts";
import { addRefusal, sayRefusal } from "./pod-condition.ts";
import { createEventRecorder, type EventNews } from "../events/events.ts";
import { createMirrors } from "../mirrors/mirrors.ts";
import { createPods, type PodsOptions } from "../pods/pods.ts";
import {
  createReleases,
  createStatusReporter,
  refOf,
  type ReportTarget,
  type StatusReporterOptions,
} from "../status/status.ts";
import { type AppsHere, type PodFacts, type ReportedApp, ServerApps } from "./server-apps.ts";

export type { ReportedApp } from "./server-apps.ts";

export interface AppReportsOptions
  extends Omit<PodsOptions, "follow">, Pick<StatusReporterOptions, "reportPeriodMs"> {
  apps: AppsHere;
}

/** Receives what the API server has for this node. */
export interface ServerSink {
  /** A complete list. */
  replace(apps: { app: NCApp }[]): void;
  upsert(app: { app: NCApp }): void;
  /** The object was deleted, or bound to another node. */
  remove(key: string, uid: string): void;
}

const flushMs = 2000;
const maxUnsent = 10;
/** Apps that appear together, such as the files of a folder, get their first mirrors together. */
const firstMirrorMs = 200;
/** Most starts and stops take less: a report in the middle of one would slow it down, and be outdated when it arrives. */
const passingMs = 100;

export type AppReports = ReturnType<typeof createAppReports>;

export function createAppReports(options: AppReportsOptions) {
  const { node, apps, isActing = () => true, clock = systemClock } = options;
  const ending = new AbortController();
  const { signal } = ending;
  const reporter = createStatusReporter(options);
  const recorder = createEventRecorder({ ...options, component: agentComponent });
  const releases = createReleases(options);
  const pods = createPods({
    ...options,
    record: recorder.record,
    onRefusal: (key) => reportRefusal(key),
    onEvicted: (key) => reportNow(key),
  });
  const server = new ServerApps({ ...options, reporter, releases, signal });
  const show = ({ app, status, started }: ReportedApp, owner: ReportTarget, facts: Partial<PodFacts> = {}) =>
    pods.show({ owner, app, status, started, ...facts });

  /** The status, with why the app has no Pod. */
  const withPod = ({ key, app, status }: ReportedApp) => addRefusal(status, pods.refusalOf(key), app);
  const reportRefusal = (key: string) => {
    const [known, refusal] = [apps.get(key), pods.refusalOf(key)];
    if (!known) return;
    if (refusal) {
      recordEvent(known, { type: "Warning", reason: refusal.reason, message: sayRefusal(refusal) });
    }
    report(known);
  };

  /** The events of local apps whose mirrors are yet to come, by key. */
  const unsent = new Map<string, EventNews[]>();
  const mirrors = createMirrors({
    ...options,
    signal,
    onFound(key, mirror) {
      const [target, known] = [refOf(mirror), apps.get(key)];
      for (const news of unsent.get(key) ?? []) recorder.record(target, news);
      unsent.delete(key);
      if (!known?.isLocal) return;
      reporter.report(target, withPod(known), mirror.status ?? {});
      show(known, target);
    },
  });
  /** Syncs the mirrors with the apps, once the API server was listed; `complete`: every source has been read. Never throws. */
  const syncMirrors = async (complete: boolean) => {
    if (!server.isListed || !isActing()) return;
    const shown = apps.list().filter(({ isLocal }) => isLocal).map(({ app }): NCApp => app);
    await mirrors.sync(shown, server.list(), complete);
    if (complete) pods.complete();
  };
  let isDue = false;
  const mirrorSoon = async () => {
    if (isDue) return;
    isDue = true;
    await sleep(firstMirrorMs, signal);
    isDue = false;
    if (!signal.aborted) await syncMirrors(false);
  };

  /** The keys of local apps that were reported: only a new one asks for mirrors at once. */
  const locals = new Set<string>();
  const report = (known: ReportedApp) => {
    const { key, app, isLocal, holder } = known;
    const status = withPod(known);
    server.releaseOther(key, app.metadata.uid);
    if (!isLocal) {
      // While another node holds the app, that node shows it.
      const facts = server.factsOf(app.metadata.uid);
      // Until the server was listed it is unknown which kind of Pod the app should have.
      if (holder === node) { if (facts) show(known, refOf(app), facts); }
      else pods.remove(key);
      const shown = pods.isEvicted(key) ? withDisruption(status) : status;
      return reporter.report(refOf(app), holder === undefined ? shown : { ...shown, nodeName: holder });
    }
    if (!locals.has(key)) void mirrorSoon();
    locals.add(key);
    const mirror = mirrors.targetOf(key);
    if (!mirror) return;
    reporter.report(mirror, status);
    show(known, mirror);
  };
  const recordEvent = ({ key, app, isLocal }: ReportedApp, event: EventNews) => {
    const target = isLocal ? mirrors.targetOf(key) : refOf(app);
    if (target) return recorder.record(target, event);
    const news = [...unsent.get(key) ?? [], { at: clock.wall(), ...event }];
    unsent.set(key, news.slice(-maxUnsent));
  };
  const reportNow = (key: string) => {
    const known = apps.get(key);
    if (known && isActing()) report(known);
  };
  /** Calls `see`, then reports the apps of which the server says something else than before. */
  const reportChanged = (all: readonly NCApp[], see: () => void) => {
    const before = all.map(({ metadata }) => JSON.stringify(server.factsOf(metadata.uid)));
    see();
    for (const [at, { metadata }] of all.entries()) {
      if (before[at] !== JSON.stringify(server.factsOf(metadata.uid))) reportNow(keyOf({ metadata }));
    }
  };
  /** The keys of apps whose state may pass before it is worth a report. */
  const passing = new Set<string>();
  const reportPassing = (key: string) => {
    const known = passing.delete(key) ? apps.get(key) : undefined;
    if (known) report(known);
  };

  return {
    /** The Pods that show the apps. */
    pods,
    /** Returns a sink for all NCApps of this node: notes each, and passes those on that are no mirrors. */
    observe: <Sink extends ServerSink>(sink: Sink): Sink => ({
      ...sink,
      replace(all) {
        if (!server.isListed) void mirrorSoon();
        const objects = all.map(({ app }) => app);
        reportChanged(objects, () => server.replace(objects));
        sink.replace(all.filter(({ app }) => !isMirrorOf(node, app)));
      },
      upsert(one) {
        reportChanged([one.app], () => server.see(one.app));
        if (!isMirrorOf(node, one.app)) sink.upsert(one);
      },
      remove(key, uid) {
        server.remove(uid);
        sink.remove(key, uid);
      },
    } satisfies ServerSink),
    changed(known: ReportedApp): void {
      const { key, isLocal, isPassing } = known;
      if (!isActing()) return;
      if (isLocal || !isPassing) return report(known);
      if (!passing.has(key)) void sleep(passingMs, signal).then(() => reportPassing(key));
      passing.add(key);
    },
    event(known: ReportedApp, event: EventNews): void {
      if (isActing() !== false) recordEvent(known, event);
    },
    forgotten({ key, app, isLocal }: ReportedApp): void {
      pods.remove(key);
      const target = isLocal ? mirrors.targetOf(key) : refOf(app);
      if (target) reporter.forget(target.namespace, target.name, target.uid);
      if (target && !isLocal) server.release(key, target);
      locals.delete(key);
      unsent.delete(key);
    },
    /** The first mirror of an app does not wait for this call. */
    syncMirrors: (complete: boolean): void => void syncMirrors(complete),
    /** The server answered a request: writes that got no answer are retried. */
    serverAnswered(): void {
      for (const writer of [reporter, releases, pods]) writer.serverAnswered();
    },
    /** Flushes the last reports, then stops. */
    async close(): Promise<void> {
      passing.forEach(reportPassing);
      await Promise.all([reporter, recorder, releases, pods].map((writer) => writer.flush(flushMs)));
      ending.abort();
      for (const writer of [releases, pods, reporter, recorder]) writer.close();
    },
  };
}

/** Asks the scheduler to unbind the app: only it may change the spec. */
function withDisruption(status: NCAppStatus): NCAppStatus {
  const disruption: Condition = {
    type: disruptionCondition,
    status: "True",
    reason: "PodEvicted" satisfies Reason,
    message: "its Pod was evicted, or deleted while the node is cordoned",
    ...(status.observedGeneration === undefined ? {} : { observedGeneration: status.observedGeneration }),
  };
  return { ...status, conditions: [...status.conditions ?? [], disruption] };
}

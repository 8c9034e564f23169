/**
 * Probes apps while they run, and passes the verdicts to their runners.
 *
 * prober.ts has the timing, thresholds.ts turns results into verdicts, and perform-probe.ts performs one probe by its mechanism (the
 * list of mechanisms is `probeActions` in api/schema/probe.ts).
 */
import { type Layout, runFolder } from "../layout.ts";
import { statusPid } from "../decide/decide.ts";
import type { Entrance } from "../launcher/launcher.ts";
import { performProbe } from "./perform-probe.ts";
import { createProber, hasProbes } from "./prober.ts";
import { keyOf } from "../../api/names.ts";
import type { ProbeKind } from "./thresholds.ts";
import type { AppRecord, Run } from "../types.ts";

/** Receives what the probes of an app found. */
export interface ProbeObserver {
  readonly record: AppRecord;
  /** A liveness or startup probe has failed for this run. */
  failProbe(runId: string, message: string): void;
  /** The probes of this run found that it has started, or that it is or is not ready, or could not be performed. */
  setProbeState(
    runId: string,
    probed: Pick<Run, "ready" | "unready" | "startupPassed" | "probeErrors">,
  ): void;
}

export interface AppProber {
  /** Starts, updates or stops the probes of an app, as its record requires. */
  follow(record: AppRecord): void;
  /** How often probes of the app have failed. */
  failures(key: string): ProbeFailures | undefined;
  /** Stops the probes of an app that is gone. */
  forget(key: string): void;
  close(): void;
}

/** Failed probes by kind; replaced and never modified. */
export type ProbeFailures = Readonly<Partial<Record<ProbeKind, number>>>;

/** A body or the output of a command may be part of a message. */
const maxMessage = 500;

export function createAppProber(
  { layout, launcher, find, onUnhealthy }: {
    layout: Layout;
    launcher: Entrance;
    find: (key: string) => ProbeObserver | undefined;
    /** One probe failed, whether or not it reached a threshold, or could not be performed, for a new reason. */
    onUnhealthy: (key: string, message: string) => void;
  },
): AppProber {
  const failures = new Map<string, ProbeFailures>();
  const prober = createProber({
    perform: (probe, { key, runId, spec }) => {
      const run = find(key)?.record.run;
      const pid = run?.id === runId ? statusPid(run) : undefined;
      return performProbe(probe, {
        ports: spec.ports,
        runFolder: runFolder(layout, runId),
        launcher,
        pid,
      });
    },
    onFailed: ({ key, runId }, message) => find(key)?.failProbe(runId, message),
    onReady: ({ key, runId }, ready) =>
      find(key)?.setProbeState(runId, { ready, ...(ready ? { unready: undefined } : {}) }),
    onUnready: ({ key, runId }, message) =>
      find(key)?.setProbeState(runId, { unready: message.slice(0, maxMessage) }),
    onStarted: ({ key, runId }) => find(key)?.setProbeState(runId, { startupPassed: true }),
    onUnhealthy: ({ key, runId }, message, kind) => {
      // A run that ends takes its exec probes with it: that says nothing about the app.
      if (find(key)?.record.run?.id !== runId) return;
      const known = failures.get(key);
      failures.set(key, { ...known, [kind]: (known?.[kind] ?? 0) + 1 });
      onUnhealthy(key, message);
    },
    onError: ({ key, runId }, message, kind) => {
      const observer = find(key);
      if (observer?.record.run?.id !== runId) return;
      observer.setProbeState(runId, { probeErrors: { [kind]: message } });
      if (message !== undefined) onUnhealthy(key, message);
    },
  });
  return {
    follow({ app, run, phase }) {
      const { startupProbe, livenessProbe, readinessProbe, ports } = app.spec;
      const spec = { startupProbe, livenessProbe, readinessProbe, ports };
      const key = keyOf(app);
      if (phase !== "Running" || !run || !hasProbes(spec)) return prober.stop(key);
      prober.watch({
        key,
        runId: run.id,
        startedAt: run.startedAt ?? run.createdAt,
        startupPassed: run.startupPassed,
        probeErrors: run.probeErrors,
        spec,
      });
    },
    failures: (key) => failures.get(key),
    forget(key) {
      prober.stop(key);
      failures.delete(key);
    },
    close: () => prober.close(),
  };
}

/**
 * Probes go with the run of an app: they begin when it runs and end with it.
 */
import { type Layout, runFolder } from "../layout.ts";
import { performProbe } from "./perform.ts";
import { createProber, hasProbes } from "./prober.ts";
import { keyOf } from "../../api/names.ts";
import type { AppRecord, Run } from "../types.ts";

/** Who hears what the probes of an app found. */
export interface Probed {
  readonly record: AppRecord;
  /** A probe has given this run up. */
  failProbe(runId: string, message: string): void;
  /** The probes of this run say whether it has started, and whether the app can serve. */
  setProbed(runId: string, probed: Pick<Run, "ready" | "startupPassed">): void;
}

export interface AppProber {
  /** Probes the app as its record says. */
  follow(record: AppRecord): void;
  stop(key: string): void;
  close(): void;
}

export function createAppProber(
  { layout, find, onUnhealthy }: {
    layout: Layout;
    find: (key: string) => Probed | undefined;
    /** One probe failed, whatever follows from it. */
    onUnhealthy: (key: string, message: string) => void;
  },
): AppProber {
  const prober = createProber({
    perform: (probe, { runId, spec }) =>
      performProbe(probe, { ports: spec.ports, runFolder: runFolder(layout, runId) }),
    onFailed: ({ key, runId }, message) => find(key)?.failProbe(runId, message),
    onReady: ({ key, runId }, ready) => find(key)?.setProbed(runId, { ready }),
    onStarted: ({ key, runId }) => find(key)?.setProbed(runId, { startupPassed: true }),
    onUnhealthy: ({ key, runId }, message) => {
      // The end of a run ends the probe that is inside of it: that tells nothing about the app.
      if (find(key)?.record.run?.id === runId) onUnhealthy(key, message);
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
        spec,
      });
    },
    stop: (key) => prober.stop(key),
    close: () => prober.close(),
  };
}

/**
 * Probes running apps at their periods.
 *
 * The startup probe comes first; the others wait until it has passed. At most one probe of a kind is in flight. A failed liveness or
 * startup verdict is reported once per run, readiness with every change of verdict. A probe that could not be performed, for lack of
 * descriptors or because its command cannot be executed, does not count: as in a kubelet, the result is unknown. It is reported once,
 * and repeated after its period.
 */
import { performance } from "node:perf_hooks";
import type { DefaultedProbe, DefaultedSpec } from "../../api/types.ts";
import {
  errorMessage,
  failureMessage,
  noResults,
  observeProbe,
  type ProbeKind,
  type ProbeState,
} from "./thresholds.ts";
import type { ProbeResult } from "./probe-result.ts";
import type { Run } from "../types.ts";

type Probes = Pick<DefaultedSpec, "startupProbe" | "livenessProbe" | "readinessProbe" | "ports">;

export interface ProbedRun {
  key: string;
  runId: string;
  startedAt: number;
  /** The startup probe has passed before, maybe under an earlier agent. */
  startupPassed?: boolean;
  /** The errors that were reported before; see onError. */
  probeErrors?: Run["probeErrors"];
  spec: Probes;
}

export interface ProberDeps {
  /** Throws if the probe could not be performed. */
  perform: (probe: DefaultedProbe, run: ProbedRun) => Promise<ProbeResult>;
  /** The app must be restarted. */
  onFailed: (run: ProbedRun, message: string) => void;
  onReady: (run: ProbedRun, ready: boolean) => void;
  /** The startup probe has passed. */
  onStarted: (run: ProbedRun) => void;
  /** One probe failed, whether or not it reached a threshold. */
  onUnhealthy: (run: ProbedRun, message: string, kind: ProbeKind) => void;
  /** What keeps the app from being ready, when that is new; not more often than every 10 s. */
  onUnready: (run: ProbedRun, message: string) => void;
  /** A probe could not be performed, for another reason than the last time, or, with undefined, could again. */
  onError: (run: ProbedRun, message: string | undefined, kind: ProbeKind) => void;
  now?: () => number;
  random?: () => number;
}

export interface Prober {
  /** Starts to probe this run, or replaces its probes if they changed. */
  watch(run: ProbedRun): void;
  stop(key: string): void;
  /** Stops all probes for good: a runner whose last step is under way may still ask for one. */
  close(): void;
}

const unreadyMs = 10_000;
const noMessage = { message: "", at: -Infinity };

export function hasProbes({ startupProbe, livenessProbe, readinessProbe }: Probes): boolean {
  return Boolean(startupProbe ?? livenessProbe ?? readinessProbe);
}

export function createProber(deps: ProberDeps): Prober {
  const watched = new Map<string, { run: ProbedRun; probes: string; end: () => void }>();
  let isClosed = false;

  const stop = (key: string) => {
    watched.get(key)?.end();
    watched.delete(key);
  };
  return {
    watch(run) {
      if (isClosed) return;
      const known = watched.get(run.key);
      const probes = JSON.stringify(run.spec);
      if (known?.run.runId === run.runId && known.probes === probes) return;
      stop(run.key);
      watched.set(run.key, { run, probes, end: probeRun(run, deps) });
    },
    stop,
    close() {
      isClosed = true;
      for (const key of [...watched.keys()]) stop(key);
    },
  };
}

/** Probes one run until the returned function is called. */
function probeRun(run: ProbedRun, deps: ProberDeps): () => void {
  const { startupProbe, livenessProbe, readinessProbe } = run.spec;
  const ending = new AbortController();
  const { signal } = ending;

  const afterStartup = () => {
    repeatProbe("liveness", livenessProbe, run, deps, signal, (verdict, message) => {
      if (verdict === "failed") deps.onFailed(run, message);
    });
    repeatProbe("readiness", readinessProbe, run, deps, signal, (verdict) => {
      deps.onReady(run, verdict === "passed");
    });
    if (!readinessProbe) deps.onReady(run, true);
  };

  if (startupProbe && !run.startupPassed) {
    const startup = new AbortController();
    const until = AbortSignal.any([signal, startup.signal]);
    repeatProbe("startup", startupProbe, run, deps, until, (verdict, message) => {
      startup.abort();
      if (verdict === "failed") return deps.onFailed(run, message);
      deps.onStarted(run);
      afterStartup();
    });
  } else afterStartup();
  return () => ending.abort();
}

/** Performs a probe at its period until the signal aborts, if the app has it. */
function repeatProbe(
  kind: ProbeKind,
  given: DefaultedProbe | undefined,
  run: ProbedRun,
  { perform, onUnhealthy, onUnready, onError, now = Date.now, random = Math.random }: ProberDeps,
  signal: AbortSignal,
  onVerdict: (verdict: "passed" | "failed", message: string) => void,
): void {
  if (!given) return;
  const probe = given;
  let state: ProbeState = noResults;
  let reported = run.probeErrors?.[kind];
  let timer: NodeJS.Timeout | undefined;
  let unready = noMessage;
  const periodMs = probe.periodSeconds * 1000;
  const schedule = (ms: number) => timer = setTimeout(probeOnce, ms);
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });

  async function probeOnce(): Promise<void> {
    const started = performance.now();
    const result = await perform(probe, run).catch((error: Error) => error);
    if (signal.aborted) return;
    report(result instanceof Error ? errorMessage(kind, result) : undefined);
    if (!(result instanceof Error)) judge(result);
    if (!signal.aborted) schedule(Math.max(0, started + periodMs - performance.now()));
  }

  function judge(result: ProbeResult): void {
    const before = state.verdict;
    state = observeProbe(state, result, probe);
    const message = failureMessage(kind, result);
    if (!result.ok) onUnhealthy(run, message, kind);
    // Each is saved: a message that changes with every probe must not write to the disk as often.
    const isNew = message !== unready.message && performance.now() - unready.at >= unreadyMs;
    if (!result.ok && kind !== "liveness" && state.verdict !== "passed" && isNew) {
      unready = { message, at: performance.now() };
      onUnready(run, message);
    }
    if (state.verdict === "passed") unready = noMessage;
    if (state.verdict && state.verdict !== before) onVerdict(state.verdict, message);
  }

  function report(error: string | undefined): void {
    if (error !== reported) onError(run, error, kind);
    reported = error;
  }

  // The delay counts from the start of the run, also under a new agent. Jitter keeps many apps from being probed at once.
  const initialMs = probe.initialDelaySeconds * 1000;
  const delayMs = Math.min(initialMs, run.startedAt + initialMs - now());
  schedule(Math.max(0, delayMs) + random() * Math.min(1000, periodMs / 4));
}

/**
 * Probes running apps at their periods.
 *
 * The startup probe comes first; the others wait until it has passed. One probe of a kind is in flight at a time. A liveness or
 * startup verdict of "failed" is told once per run; readiness is told with every change of verdict. A probe that could not be made, since
 * the node is short of something, counts for nothing: it is told once, and made again after its period.
 */
import { performance } from "node:perf_hooks";
import type { DefaultedProbe, DefaultedSpec } from "../../api/types.ts";
import {
  errorMessage,
  failureMessage,
  observeProbe,
  type ProbeKind,
  type ProbeState,
  untried,
} from "./policy.ts";
import type { ProbeResult } from "./result.ts";

type Probes = Pick<DefaultedSpec, "startupProbe" | "livenessProbe" | "readinessProbe" | "ports">;

/** One run of an app that is to be probed. */
export interface ProbedRun {
  key: string;
  runId: string;
  startedAt: number;
  /** An earlier agent, or earlier probes, saw the startup probe pass. */
  startupPassed?: boolean;
  spec: Probes;
}

export interface ProberDeps {
  /** A throw means that the probe could not be made. */
  perform: (probe: DefaultedProbe, run: ProbedRun) => Promise<ProbeResult>;
  /** The app has to be restarted. */
  onFailed: (run: ProbedRun, message: string) => void;
  onReady: (run: ProbedRun, ready: boolean) => void;
  /** The startup probe has passed. */
  onStarted: (run: ProbedRun) => void;
  /** One probe failed, whatever follows from it, or the first of several could not be made. */
  onUnhealthy: (run: ProbedRun, message: string) => void;
  now?: () => number;
  random?: () => number;
  /** A clock that never jumps, for the periods. */
  monotonic?: () => number;
}

export interface Prober {
  /** Probes this run from now on, or by its new probes if it is probed already. */
  watch(run: ProbedRun): void;
  stop(key: string): void;
  close(): void;
}

/** Whether anything of an app is probed. */
export function hasProbes({ startupProbe, livenessProbe, readinessProbe }: Probes): boolean {
  return Boolean(startupProbe ?? livenessProbe ?? readinessProbe);
}

/** Makes a prober; nothing runs until a run is given to it. */
export function createProber(deps: ProberDeps): Prober {
  const watched = new Map<string, { run: ProbedRun; probes: string; end: () => void }>();

  const stop = (key: string) => {
    watched.get(key)?.end();
    watched.delete(key);
  };
  return {
    watch(run) {
      const known = watched.get(run.key);
      const probes = JSON.stringify(run.spec);
      if (known?.run.runId === run.runId && known.probes === probes) return;
      stop(run.key);
      watched.set(run.key, { run, probes, end: probeRun(run, deps) });
    },
    stop,
    close() {
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
    if (livenessProbe) {
      repeatProbe("liveness", livenessProbe, run, deps, signal, (verdict, message) => {
        if (verdict === "failed") deps.onFailed(run, message);
      });
    }
    if (readinessProbe) {
      repeatProbe(
        "readiness",
        readinessProbe,
        run,
        deps,
        signal,
        (verdict) => deps.onReady(run, verdict === "passed"),
      );
    } else deps.onReady(run, true);
  };

  if (startupProbe && !run.startupPassed) {
    const startup = new AbortController();
    repeatProbe(
      "startup",
      startupProbe,
      run,
      deps,
      AbortSignal.any([signal, startup.signal]),
      (verdict, message) => {
        startup.abort();
        if (verdict === "failed") return deps.onFailed(run, message);
        deps.onStarted(run);
        afterStartup();
      },
    );
  } else afterStartup();
  return () => ending.abort();
}

function repeatProbe(
  kind: ProbeKind,
  probe: DefaultedProbe,
  run: ProbedRun,
  { perform, onUnhealthy, now = Date.now, random = Math.random, monotonic = () => performance.now() }:
    ProberDeps,
  signal: AbortSignal,
  onVerdict: (verdict: "passed" | "failed", message: string) => void,
): void {
  let state: ProbeState = untried;
  let isBroken = false;
  let timer: NodeJS.Timeout | undefined;
  const periodMs = probe.periodSeconds * 1000;
  const later = (ms: number) => timer = setTimeout(probeOnce, ms);
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });

  async function probeOnce(): Promise<void> {
    const began = monotonic();
    const result = await perform(probe, run).catch(complain);
    if (signal.aborted) return;
    if (result) judge(result);
    if (!signal.aborted) later(Math.max(0, began + periodMs - monotonic()));
  }

  function judge(result: ProbeResult): void {
    isBroken = false;
    const before = state.verdict;
    state = observeProbe(state, result, probe);
    const message = failureMessage(kind, result);
    if (!result.ok) onUnhealthy(run, message);
    if (state.verdict && state.verdict !== before) onVerdict(state.verdict, message);
  }

  function complain(error: Error): void {
    if (!signal.aborted && !isBroken) onUnhealthy(run, errorMessage(kind, error));
    isBroken = true;
  }

  // Apps that were taken over have had their delay; a little chance keeps many apps from being probed at once.
  const initialMs = probe.initialDelaySeconds * 1000;
  const delayMs = Math.min(initialMs, run.startedAt + initialMs - now());
  later(Math.max(0, delayMs) + random() * Math.min(1000, periodMs / 4));
}

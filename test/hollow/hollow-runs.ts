/**
 * Runs without processes: what a hollow agent has in place of launchers, cgroups and records on disk. A run starts, exits and stops
 * in memory, as `behave` says; the supervisor above it is the real one.
 *
 * Caveat: the pid of every run is that of this process, which lives as long as the run does. Nothing sends it a signal.
 */
import process from "node:process";
import type { Confined } from "../../src/agent/choose-confinement.ts";
import type { RunnerDeps } from "../../src/supervisor/runner/runner.ts";
import type { RunnableApp, RunView, ScriptExit } from "../../src/supervisor/types.ts";

/** What the script of an app would do; by default it runs until it is stopped. */
export type Behave = (app: RunnableApp) => {
  /** The script exits by itself, this long after it started. */
  exit?: { code: number; afterMs: number };
};

interface State {
  startedAt: number;
  exit?: ScriptExit;
  timer?: ReturnType<typeof setTimeout>;
  onEmpty?: () => void;
}

export interface HollowRuns {
  confined: Confined;
  decorate: (deps: RunnerDeps) => RunnerDeps;
}

export function createHollowRuns(behave: Behave = () => ({})): HollowRuns {
  const runs = new Map<string, State>();
  const main = { pid: process.pid, startTime: "" };

  const view = (id: string): RunView => {
    const state = runs.get(id);
    if (!state) return { claim: "cancelled", launcherAlive: false, rebooted: false, processes: [] };
    return {
      claim: "launcher",
      // Without a launcher, the supervisor asks to be told when the last process is gone: `onEmpty`.
      launcherAlive: false,
      rebooted: false,
      started: { at: state.startedAt, main },
      exit: state.exit,
      processes: state.exit ? [] : [main.pid],
    };
  };
  const end = (id: string, code: number) => {
    const state = runs.get(id);
    if (!state || state.exit) return;
    clearTimeout(state.timer);
    state.exit = { code, at: Date.now() };
    state.onEmpty?.();
  };
  const remove = (id: string) => {
    clearTimeout(runs.get(id)?.timer);
    runs.delete(id);
  };
  const nothing = async () => {};
  const capped = async () => ({ enforced: true as const });

  const confinement: Confined["confinement"] = {
    whyNoLimits: "",
    prepareApp: async () => ({ enforced: true }),
    prepare: () => Promise.reject(new Error("a hollow run has no cgroup")),
    detach() {},
    leafOf: () => "",
    ensureCaps: capped,
    processes: async ({ runId }) => view(runId).processes,
    signal: nothing,
    kill: nothing,
    thaw: nothing,
    onEmpty: () => () => {},
    usage: async () => ({ cpuSeconds: 0, throttledSeconds: 0, memoryBytes: 1 << 20, processes: 1 }),
    kills: () => undefined,
    removeRun: nothing,
    removeApp: nothing,
    listRuns: async () => [],
  };

  const decorate = (deps: RunnerDeps): RunnerDeps => ({
    ...deps,
    save: nothing,
    leafOf: () => "",
    observe: async (_, { id }) => view(id),
    cancel: async ({ id }) => remove(id),
    thaw: nothing,
    async startRun({ app }, { id }) {
      const { exit } = behave(app);
      const state: State = { startedAt: Date.now() };
      if (exit) state.timer = setTimeout(() => end(id, exit.code), exit.afterMs);
      runs.set(id, state);
      return {};
    },
    runStopFile: async () => ({}),
    terminate: async (_, { id }) => end(id, 143),
    kill: async (_, { id }) => end(id, 137),
    cleanUp: async (_, { id }) => remove(id),
    ensureCaps: capped,
    forget: nothing,
    logTail: async () => "",
    onEmpty(_, { id }, callback) {
      const state = runs.get(id);
      if (state) state.onEmpty = callback;
      return () => {
        if (state) state.onEmpty = undefined;
      };
    },
  });

  return { confined: { confinement, release: nothing }, decorate };
}

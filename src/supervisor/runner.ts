/**
 * The worker of one app: looks, decides, writes down, acts; one step at a time, each app by itself.
 *
 * Guarantees: steps of one app never overlap; a poke during a step leads to another step; the record is on disk before
 * its effects. An effect that throws is logged and tried again by a later step, never dropped.
 */
import type { Logger } from "../lib/log.ts";
import type { CapsState } from "./confinement.ts";
import { runHash } from "./run-hash.ts";
import type { Situation } from "./situation.ts";
import { decide } from "./states.ts";
import type { AppEvent, AppRecord, Effect, Run, RunnableApp, RunView, StartProblem } from "./types.ts";

/** What a source wants of an app. */
export interface Desired {
  app: RunnableApp;
  source: string;
  origin?: string;
  /** What is wrong with the spec. Such an app is not started; one that runs goes on as it was. */
  invalid?: string;
}

/** The effects, as the runner needs them; supervisor.ts wires the real ones. */
export interface RunnerDeps {
  now: () => number;
  bootId: string;
  newRunId: () => string;
  log: Logger;
  save: (record: AppRecord) => Promise<void>;
  observe: (record: AppRecord, run: Run) => Promise<RunView>;
  /** Calls off a run whose launcher has not claimed it. */
  cancel: (run: Run) => Promise<void>;
  thaw: (record: AppRecord, run: Run) => Promise<void>;
  launch: (record: AppRecord, run: Run, signal: AbortSignal) => Promise<StartProblem | undefined>;
  runStopFile: (record: AppRecord, run: Run) => Promise<void>;
  terminate: (record: AppRecord, run: Run) => Promise<void>;
  kill: (record: AppRecord, run: Run) => Promise<void>;
  cleanUp: (record: AppRecord, run: Run) => Promise<void>;
  ensureCaps: (record: AppRecord) => Promise<CapsState>;
  forget: (record: AppRecord) => Promise<void>;
  logTail: (record: AppRecord) => Promise<string>;
  onEmpty: (record: AppRecord, run: Run, callback: () => void) => () => void;
  onChange: (runner: AppRunner) => void;
  onEvent: (record: AppRecord, event: AppEvent) => void;
  onForgotten: (runner: AppRunner) => void;
}

const retryMs = 5000;

export class AppRunner {
  readonly #deps: RunnerDeps;
  #record: AppRecord;
  #next: Desired | "withdrawn" | undefined;
  #successor: Desired | undefined;
  #running: Promise<void> | undefined;
  #pokedAgain = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;
  #launching: AbortController | undefined;
  #terminated: string | undefined;
  #emptyWatch: { runId: string; close: () => void } | undefined;
  #outlivedScript: string | undefined;
  #caps: CapsState | undefined;
  #eviction: string | undefined;
  #probeFailure: { runId: string; message: string } | undefined;
  #probed: ({ runId: string } & Pick<Run, "ready" | "startupPassed">) | undefined;
  #halted = false;
  #leftToCleanUp: Run[] = [];

  constructor(record: AppRecord, deps: RunnerDeps) {
    this.#record = record;
    this.#deps = deps;
  }

  get record(): AppRecord {
    return this.#record;
  }

  get caps(): CapsState | undefined {
    return this.#caps;
  }

  /** Settles what a crashed agent left undecided, then goes on from there. */
  async adopt(): Promise<void> {
    const { run, phase } = this.#record;
    try {
      if (run && phase === "Starting") await this.#deps.cancel(run);
      if (run && phase === "Stopping") await this.#deps.thaw(this.#record, run);
    } catch (error) {
      this.#deps.log.error("cannot settle what was left undecided", { app: this.#name, error });
    }
    this.poke();
  }

  assign(desired: Desired): void {
    this.#next = desired;
    const changes = runHash(desired.app) !== this.#record.run?.hash || desired.app.spec.suspend;
    if (changes) this.#launching?.abort(new Error("the app was changed"));
    this.poke();
  }

  withdraw(): void {
    this.#next = "withdrawn";
    this.#launching?.abort(new Error("the app was withdrawn"));
    this.poke();
  }

  /** A probe has given this run up. */
  failProbe(runId: string, message: string): void {
    this.#probeFailure = { runId, message };
    this.poke();
  }

  /** The probes of this run say whether it has started, and whether the app can serve. */
  setProbed(runId: string, probed: Pick<Run, "ready" | "startupPassed">): void {
    this.#probed = { ...(this.#probed?.runId === runId ? this.#probed : {}), ...probed, runId };
    this.poke();
  }

  /** The agent takes its apps with it: this one ends, and nothing begins any more. */
  halt(): void {
    this.#halted = true;
    this.#launching?.abort(new Error("the agent is stopping"));
    this.poke();
  }

  /** The node is short of memory and this app has to go. */
  evict(message: string): void {
    this.#eviction = message;
    this.poke();
  }

  /** Something may have happened: look again. */
  poke(): void {
    if (this.#closed) return;
    if (this.#running) {
      this.#pokedAgain = true;
      return;
    }
    this.#running = this.#runSteps().finally(() => {
      this.#running = undefined;
      if (this.#pokedAgain) {
        this.#pokedAgain = false;
        this.poke();
      }
    });
  }

  /** Ends the worker and leaves the app alone; resolves when the step under way is done. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#launching?.abort(new Error("the agent is stopping"));
    clearTimeout(this.#timer);
    this.#emptyWatch?.close();
    await this.#running;
  }

  async #runSteps(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      let problem: StartProblem | undefined;
      for (let again = true; again && !this.#closed;) {
        ({ again, problem } = await this.#step(problem));
      }
    } catch (error) {
      this.#deps.log.error("a step failed", { app: this.#name, error });
      this.#wakeAt(this.#deps.now() + retryMs);
    }
  }

  async #step(problem?: StartProblem): Promise<{ again: boolean; problem?: StartProblem }> {
    await this.#takeDesired();
    await this.#takeProbed();
    for (const run of this.#leftToCleanUp) await this.#cleanUp(run);
    const situation = await this.#look(problem);
    const { record, effects, events, wakeAt } = decide(this.#record, situation);
    const changed = record !== this.#record;
    if (changed) await this.#save(record);
    for (const event of events) this.#deps.onEvent(record, event);
    let found: StartProblem | undefined;
    for (const effect of effects) found = await this.#perform(effect) ?? found;
    if (this.#closed) return { again: false };
    this.#watchEmpty(situation.view);
    if (changed || found) {
      this.#deps.onChange(this);
      return { again: true, problem: found };
    }
    if (wakeAt !== undefined) this.#wakeAt(wakeAt);
    return { again: this.#next !== undefined };
  }

  /** Merges what the source said last into the record. Another uid is another app: the old one goes first. */
  async #takeDesired(): Promise<void> {
    const next = this.#next;
    if (next === undefined) return;
    this.#next = undefined;
    const record = this.#record;
    if (next === "withdrawn") {
      this.#successor = undefined;
      if (!record.withdrawn) await this.#save({ ...record, withdrawn: true });
    } else if (next.app.metadata.uid !== record.app.metadata.uid) {
      this.#successor = next;
      if (!record.withdrawn) await this.#save({ ...record, withdrawn: true });
    } else {
      this.#successor = undefined;
      await this.#save({ ...record, invalid: undefined, ...next, withdrawn: undefined });
      this.#deps.onChange(this);
    }
  }

  /** What probes found is kept with the run: a new agent goes on from it, and does not call every app unready first. */
  async #takeProbed(): Promise<void> {
    const { run } = this.#record;
    if (!this.#probed) return;
    const { runId, ...probed } = this.#probed;
    this.#probed = undefined;
    if (run?.id !== runId) return;
    const next = { ...run, ...probed };
    if (next.ready === run.ready && next.startupPassed === run.startupPassed) return;
    await this.#save({ ...this.#record, run: next });
    this.#deps.onChange(this);
  }

  /** A clean-up that failed, since a process would not go or a disk not answer, is tried again at every step. */
  async #cleanUp(run: Run): Promise<void> {
    try {
      await this.#deps.cleanUp(this.#record, run);
      this.#leftToCleanUp = this.#leftToCleanUp.filter(({ id }) => id !== run.id);
    } catch (error) {
      this.#deps.log.warn("a run could not be cleared away yet", { app: this.#name, run: run.id, error });
      if (!this.#leftToCleanUp.some(({ id }) => id === run.id)) this.#leftToCleanUp.push(run);
    }
  }

  async #look(problem: StartProblem | undefined): Promise<Situation> {
    const { now, bootId, newRunId, observe, logTail } = this.#deps;
    const { run, others, app } = this.#record;
    const base = { bootId, newRunId, problem, halted: this.#halted, nextRun: await nextRunOf(app) };
    if (!run) {
      this.#eviction = undefined;
      return { ...base, now: now() };
    }
    const view = await observe(this.#record, run);
    if (view.exit && view.processes.length > 0) this.#outlivedScript = run.id;
    const ended = view.processes.length === 0 && (view.exit !== undefined || !view.launcherAlive);
    return {
      ...base,
      now: now(),
      others: others && await Promise.all(others.map((other) => observe(this.#record, other))),
      view: { ...view, outlivedScript: this.#outlivedScript === run.id },
      logTail: ended ? await logTail(this.#record) : undefined,
      terminated: this.#terminated === run.id,
      eviction: this.#eviction,
      probeFailure: this.#probeFailure?.runId === run.id ? this.#probeFailure.message : undefined,
    };
  }

  async #perform(effect: Effect): Promise<StartProblem | undefined> {
    const deps = this.#deps;
    switch (effect.kind) {
      case "launch":
        this.#launching = new AbortController();
        try {
          return await deps.launch(this.#record, effect.run, this.#launching.signal);
        } finally {
          this.#launching = undefined;
        }
      case "stopFile":
        return void await deps.runStopFile(this.#record, effect.run);
      case "terminate":
        if (effect.run.id === this.#record.run?.id) this.#terminated = effect.run.id;
        return void await deps.terminate(this.#record, effect.run);
      case "kill":
        return void await deps.kill(this.#record, effect.run);
      case "cancel":
        return void await deps.cancel(effect.run);
      case "cleanUp":
        return void await this.#cleanUp(effect.run);
      case "limits":
        return void await this.#ensureCaps();
      case "forget":
        return void await this.#forget();
    }
  }

  async #ensureCaps(): Promise<void> {
    const before = JSON.stringify(this.#caps);
    this.#caps = await this.#deps.ensureCaps(this.#record).catch((error): CapsState => ({
      enforced: false,
      reason: "LimitsUnavailable",
      message: (error as Error).message,
    }));
    if (JSON.stringify(this.#caps) !== before) this.#deps.onChange(this);
  }

  async #forget(): Promise<void> {
    await this.#deps.forget(this.#record);
    const heir = this.#next ?? this.#successor;
    this.#next = this.#successor = this.#caps = undefined;
    if (heir !== undefined && heir !== "withdrawn") {
      await this.#save(newRecord(heir));
      this.#pokedAgain = true;
      return;
    }
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#deps.onForgotten(this);
  }

  /** Children that outlive the script end without a word from the launcher: the kernel tells when the last is gone. */
  #watchEmpty(view: RunView | undefined): void {
    const { run, phase } = this.#record;
    const needed = run !== undefined && view !== undefined && view.processes.length > 0 &&
      (view.exit !== undefined || phase === "Stopping");
    if (this.#emptyWatch && this.#emptyWatch.runId !== run?.id) {
      this.#emptyWatch.close();
      this.#emptyWatch = undefined;
    }
    if (!needed || this.#emptyWatch) return;
    this.#emptyWatch = { runId: run.id, close: this.#deps.onEmpty(this.#record, run, () => this.poke()) };
  }

  async #save(record: AppRecord): Promise<void> {
    await this.#deps.save(record);
    this.#record = record;
  }

  #wakeAt(time: number): void {
    clearTimeout(this.#timer);
    const longest = 2 ** 31 - 1;
    this.#timer = setTimeout(() => this.poke(), Math.min(longest, Math.max(0, time - this.#deps.now())));
  }

  get #name(): string {
    const { namespace, name } = this.#record.app.metadata;
    return `${namespace}/${name}`;
  }
}

/** Reading schedules costs memory that most nodes can save: it is loaded with the first app that has one. */
async function nextRunOf({ spec }: RunnableApp): Promise<Situation["nextRun"]> {
  const { schedule, timeZone } = spec;
  if (!schedule) return undefined;
  const { nextRun } = await import("./schedule.ts");
  return (after) => nextRun(schedule, timeZone, after);
}

/** The record of an app that was never seen before. */
export function newRecord(desired: Desired): AppRecord {
  return { ...desired, phase: "Pending", reason: "", message: "", restarts: 0, failures: 0, oomKills: 0 };
}

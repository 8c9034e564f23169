/**
 * All apps of a node: one runner each, wired to the real disk, kernel and launchers.
 *
 * Records on disk are restored first, so that apps started by an earlier agent continue under this one. Then the sync layer assigns
 * and withdraws apps; each runner works on its own app, so that a slow one never delays another.
 */
import { chmod } from "node:fs/promises";
import { ensureFolder } from "../lib/files.ts";
import { sleep } from "../lib/sleep.ts";
import { type AppProber, createAppProber } from "./probes/probes.ts";
import type { CapsState, Usage } from "./confinement/confinement.ts";
import { type Desired, newRecord } from "./decide/decide.ts";
import { appsFolder, marksFolder, runsFolder } from "./layout.ts";
import {
  createRecordStore,
  LostApps,
  type RecordStore,
  recoverRecords,
  removeLeftovers,
} from "./records/records.ts";
import { rotateAll, type RotationPolicy } from "./logs/logs.ts";
import { watchMarks } from "./run/run.ts";
import { readBootId } from "./processes.ts";
import {
  AppRunner,
  cleanUpRun,
  createRunEffects,
  type RunEffectsOptions,
  type RunnerDeps,
  spread,
} from "./runner/runner.ts";
import { keyOf } from "../api/names.ts";
import { newRunId, refOf, runsOf } from "./run-ref.ts";
import type { AppEvent, AppRecord, RunnableApp, RunRef } from "./types.ts";

export interface SupervisorOptions extends Omit<RunEffectsOptions, "now"> {
  /** How large logs may get, unless the app sets its own limit. */
  logs: RotationPolicy;
  now?: () => number;
  /** Wraps the effects of the runners, for tests that break one. */
  decorate?: (deps: RunnerDeps) => RunnerDeps;
}

export interface SupervisedApp {
  key: string;
  record: AppRecord;
  caps?: CapsState;
}

/** Receives every change of an app's record or caps, its events, and its removal. */
export interface SupervisorListener {
  changed(app: SupervisedApp): void;
  event(app: SupervisedApp, event: AppEvent): void;
  forgotten(app: SupervisedApp): void;
}

export class Supervisor {
  readonly #options: SupervisorOptions & { now: () => number };
  readonly #runners = new Map<string, AppRunner>();
  readonly #listeners = new Set<SupervisorListener>();
  readonly #prober: AppProber;
  readonly #lost: LostApps;
  readonly #closing = new AbortController();
  #deps: RunnerDeps | undefined;
  #ticking: Promise<void> | undefined;
  #stopWatching = () => {};
  #halted = false;

  constructor(options: SupervisorOptions) {
    this.#options = { now: Date.now, ...options };
    this.#lost = new LostApps(options.layout, options.log);
    this.#prober = createAppProber({
      layout: options.layout,
      find: (key) => this.#runners.get(key),
      onUnhealthy: (key, message) =>
        this.#emit(this.get(key), { type: "Warning", reason: "Unhealthy", message }),
    });
  }

  listen(listener: SupervisorListener): void {
    this.#listeners.add(listener);
  }

  /** Adopts what earlier agents left: records, living processes, marks. Removes runs without a record. */
  async restore(): Promise<void> {
    const { layout, confinement, confinementOf, log, now, decorate = (deps) => deps } = this.#options;
    // The users of apps must reach downloaded scripts, which are public; everything else below is private.
    await ensureFolder(layout.stateDir, { mode: 0o711 });
    await chmod(layout.stateDir, 0o711);
    for (const folder of [appsFolder(layout), runsFolder(layout), marksFolder(layout)]) {
      await ensureFolder(folder);
    }
    await ensureFolder(layout.logDir, { mode: 0o755 });
    const store = createRecordStore(layout, log, now);
    this.#deps = decorate(this.#wire(store, await readBootId()));
    const records = await recoverRecords({ store, layout, log });
    for (const record of records) this.#addRunner(record);
    await this.#lost.find(records.map(({ app }) => app));
    const cleanUp = (run: RunRef) => cleanUpRun(run, layout, confinementOf);
    await removeLeftovers(records, { layout, confinement, confinementOf, log, cleanUp });
    await this.rotateLogs();
    this.#stopWatching = this.#watchMarks();
    for (const { record } of this.#runners.values()) this.#prober.follow(record);
    await Promise.all([...this.#runners.values()].map((runner) => runner.adopt()));
  }

  /** Sets the desired state of an app; a new app is added. */
  assign(desired: Desired): void {
    const key = keyOf(desired.app);
    const known = this.#runners.get(key);
    if (known) return known.assign(desired);
    const runner = this.#addRunner(newRecord(desired));
    this.#changed(runner.record);
    runner.poke();
  }

  /** Stops and removes an app; its record is forgotten when nothing of it is left. */
  withdraw(key: string): void {
    this.#runners.get(key)?.withdraw();
  }

  /** Reports whether there are folders of apps whose records were lost. */
  get hasLost(): boolean {
    return this.#lost.any;
  }

  /** Removes the folders of apps whose records were lost; `wanted` are all apps of all sources. */
  removeLost(wanted: RunnableApp[]): void {
    this.#lost.removeAllBut([...wanted, ...this.list().map(({ record }) => record.app)]);
  }

  /** Stops a running app because the node is short of memory; it starts again after its longest backoff. */
  evict(key: string, message: string): void {
    this.#runners.get(key)?.evict(message);
  }

  get(key: string): SupervisedApp | undefined {
    const runner = this.#runners.get(key);
    return runner && this.#describe(runner.record);
  }

  list(): SupervisedApp[] {
    return [...this.#runners.values()].map(({ record }) => this.#describe(record));
  }

  /**
   * Checks every app again, even if nothing was reported, spread over a second so that hundreds of apps do not block the event
   * loop. Resolves when all are checked; a call during a round joins it.
   */
  tick(): Promise<void> {
    this.#ticking ??= spread([...this.#runners.values()], (runner) => runner.check(), {
      signal: this.#closing.signal,
    }).finally(() => this.#ticking = undefined);
    return this.#ticking;
  }

  /** The kernel's counters for an app that runs or is being stopped. */
  async readUsage(key: string): Promise<Usage | undefined> {
    const record = this.#runners.get(key)?.record;
    if (!record?.run || !["Running", "Stopping"].includes(record.phase)) return undefined;
    const run = refOf(record, record.run);
    return await this.#options.confinementOf(run).usage(run);
  }

  /** Rotates logs that have grown too large. Apps that are idle wrote nothing. */
  async rotateLogs(isIdle: (app: SupervisedApp) => boolean = () => false): Promise<void> {
    await rotateAll(this.list().filter((app) => !isIdle(app)), this.#options);
  }

  /** Stops every run and waits until all have ended, for an agent that stops its apps on exit. Records stay. */
  async stopAll(timeoutMs: number): Promise<void> {
    this.#halted = true;
    // A step under way may be about to start a run.
    const halted = Promise.all([...this.#runners.values()].map((runner) => runner.halt()));
    const ended = halted.then(() =>
      new Promise<void>((resolve) => {
        const check = () => void (this.list().every(({ record }) => !record.run) && resolve());
        this.listen({ changed: check, event: () => {}, forgotten: check });
        check();
      })
    );
    const done = new AbortController();
    await Promise.race([ended, sleep(timeoutMs, done.signal)]);
    done.abort();
  }

  /** Ends all runners. The apps run on, and the next agent adopts them. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopWatching();
    this.#prober.close();
    await Promise.all([...this.#runners.values()].map((runner) => runner.close()));
  }

  #addRunner(record: AppRecord): AppRunner {
    if (!this.#deps) throw new Error("restore() must be called first");
    const runner = new AppRunner(record, this.#deps);
    this.#runners.set(keyOf(record.app), runner);
    if (this.#halted) void runner.halt();
    return runner;
  }

  #wire(store: RecordStore, bootId: string): RunnerDeps {
    const { log, now } = this.#options;
    return {
      ...createRunEffects(this.#options, store, bootId),
      now,
      bootId,
      log,
      newRunId: () => newRunId(now()),
      onChange: (record) => this.#changed(record),
      onEvent: (record, event) => this.#emit(this.#describe(record), event),
      onForgotten: (record) => {
        const app = this.#describe(record);
        this.#prober.stop(app.key);
        this.#runners.delete(app.key);
        for (const listener of this.#listeners) listener.forgotten(app);
      },
    };
  }

  #describe(record: AppRecord): SupervisedApp {
    const key = keyOf(record.app);
    return { key, record, caps: this.#runners.get(key)?.caps };
  }

  #changed(record: AppRecord): void {
    this.#prober.follow(record);
    const app = this.#describe(record);
    for (const listener of this.#listeners) listener.changed(app);
  }

  #emit(app: SupervisedApp | undefined, event: AppEvent): void {
    if (app) { for (const listener of this.#listeners) listener.event(app, event); }
  }

  #watchMarks(): () => void {
    const { layout, log } = this.#options;
    const poke = (runId: string | undefined) => {
      for (const runner of this.#runners.values()) {
        if (runId === undefined || runsOf(runner.record).some(({ id }) => id === runId)) runner.poke();
      }
    };
    return watchMarks(
      marksFolder(layout),
      poke,
      (error) => log.error("cannot watch for exits; every sync checks instead", { error }),
    );
  }
}

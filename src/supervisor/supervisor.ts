/**
 * All apps of a node: one runner each, wired to the real disk, kernel and launchers.
 *
 * Records on disk are restored first, so that apps started by an earlier agent continue under this one. Then the sync layer assigns
 * and withdraws apps; each runner works on its own app, so that a slow one never delays another.
 */
import { chmod, lstat } from "node:fs/promises";
import { FileTimeoutError, inQueue } from "../lib/deadlines/deadlines.ts";
import { ensureFolder, whoElseCanChange } from "../lib/files.ts";
import { describeError } from "../lib/log.ts";
import { waitAtMost } from "../lib/sleep.ts";
import { type AppProber, createAppProber, type ProbeFailures } from "./probes/probes.ts";
import type { CapsState, Usage } from "./confinement/confinement.ts";
import { heldRecord, newRecord, type Order } from "./decide/decide.ts";
import { appsFolder, folderOf, marksFolder, runsFolder } from "./layout.ts";
import {
  createRecordStore,
  type Holds,
  LostApps,
  type RecordStore,
  recoverRecords,
  removeLeftovers,
} from "./records/records.ts";
import { LimitFiles, type LogLimits } from "./logs/logs.ts";
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
import type { Desired } from "../api/app-shapes.ts";
import { keyOf } from "../api/names.ts";
import { newRunId, refOf } from "./run-ref.ts";
import type { AppEvent, AppRecord, HaltReason, RunnableApp, RunRef } from "./types.ts";

export interface SupervisorOptions extends Omit<RunEffectsOptions, "now" | "limitFiles"> {
  /** How large logs may get, unless the app sets its own limit. */
  logs: LogLimits;
  now?: () => number;
  /** Wraps the effects of the runners, for tests that break one. */
  decorate?: (deps: RunnerDeps) => RunnerDeps;
}

export interface SupervisedApp {
  key: string;
  record: AppRecord;
  caps?: CapsState;
  /** Failed probes since the agent started. */
  probeFailures?: ProbeFailures;
}

/** Receives every change of an app's record or caps, its events, and its removal. */
export interface SupervisorListener {
  changed(app: SupervisedApp): void;
  event(app: SupervisedApp, event: AppEvent): void;
  forgotten(app: SupervisedApp): void;
}

export class Supervisor {
  readonly #options: SupervisorOptions & RunEffectsOptions;
  readonly #runners = new Map<string, AppRunner>();
  readonly #listeners = new Set<SupervisorListener>();
  readonly #prober: AppProber;
  readonly #lost: LostApps;
  readonly #closing = new AbortController();
  #deps: RunnerDeps | undefined;
  #holds: Holds = new Map();
  #ticking: Promise<void> | undefined;
  #stopWatching = () => {};
  #halted: HaltReason | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = { now: Date.now, ...options, limitFiles: new LimitFiles(options) };
    this.#lost = new LostApps(options.layout, options.log);
    this.#prober = createAppProber({
      layout: options.layout,
      launcher: options.launcher,
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
    const { layout, confinement, limitFiles, log, now, decorate = (deps) => deps } = this.#options;
    // The users of apps must reach downloaded scripts, which are public; everything else below is private.
    await ensureFolder(layout.stateDir, { mode: 0o711 });
    await chmod(layout.stateDir, 0o711);
    for (const folder of [appsFolder(layout), runsFolder(layout), marksFolder(layout)]) {
      await ensureFolder(folder);
    }
    // A mount that hangs delays the starts of apps, not that of the agent.
    await inQueue(layout.logDir, async () => {
      await ensureFolder(layout.logDir, { mode: 0o755 });
      const why = whoElseCanChange(await lstat(layout.logDir));
      if (why) {
        log.warn("others can change the log folder, and so what the agent writes to", {
          folder: layout.logDir,
          why,
        });
      }
    }).catch((error) => {
      if (!(error instanceof FileTimeoutError)) {
        throw new Error(`--log-dir ${describeError(error)}`, { cause: error });
      }
      log.warn("cannot use the log folder yet", { error });
    });
    const store = createRecordStore(layout, log, now);
    this.#deps = decorate(this.#wire(store, readBootId()));
    const { records, holds } = await recoverRecords({ store, layout, log });
    this.#holds = holds;
    for (const record of records) this.#addRunner(record);
    const cleanUp = (run: RunRef) => cleanUpRun(run, { layout, confinement });
    await removeLeftovers(records, { layout, confinement, log, cleanUp, holds });
    await this.#lost.find(records.map(({ app }) => app), holds.keys());
    for (const { app } of records.filter(({ run }) => run)) await limitFiles.write(app);
    this.#stopWatching = this.#watchMarks();
    for (const { record } of this.#runners.values()) this.#prober.follow(record);
    await Promise.all([...this.#runners.values()].map((runner) => runner.adopt()));
  }

  /** Sets the desired state of an app; a new app is added. */
  assign(desired: Desired): void {
    const key = keyOf(desired.app);
    const known = this.#runners.get(key);
    if (known) return known.assign(desired);
    const hold = this.#holds.get(folderOf(desired.app));
    const runner = this.#addRunner(hold === undefined ? newRecord(desired) : heldRecord(desired, hold));
    this.#changed(runner.record);
    if (hold !== undefined) {
      this.#emit(this.get(key), { type: "Warning", reason: "RecordUnreadable", message: hold });
    }
    runner.poke();
  }

  /** Reports whether the app is on hold: what runs of it is unknown, even if no source wants it. */
  isOnHold({ metadata }: Pick<RunnableApp, "metadata">): boolean {
    return this.#holds.has(folderOf({ metadata }));
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

  /** Carries out an order of the operator; resolves when the app's record has it. */
  async order(key: string, order: Order): Promise<void> {
    await this.#runners.get(key)?.order(order);
  }

  /** Makes an app reload its configuration; `refused` says why it cannot. */
  async reload(key: string): Promise<{ refused: string } | AppEvent> {
    return await this.#runners.get(key)?.reload() ?? { refused: `${key} is gone` };
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
    return await this.#options.confinement.usage(refOf(record, record.run));
  }

  /** The longest grace period of an app that runs. */
  get longestGraceMs(): number {
    const running = this.list().filter(({ record }) => record.run);
    return 1000 * Math.max(0, ...running.map(({ record }) => record.app.spec.terminationGracePeriodSeconds));
  }

  /** Stops every run and waits until all have ended, for an agent that ends. Records stay. */
  async stopAll(timeoutMs: number, reason: HaltReason = "AgentStopped"): Promise<void> {
    this.#halted = reason;
    // A step under way may be about to start a run.
    const halted = Promise.all([...this.#runners.values()].map((runner) => runner.halt(reason)));
    const ended = halted.then(() =>
      new Promise<void>((resolve) => {
        const check = () => {
          // At the first that runs: each of hundreds of apps that stop leads here.
          for (const { record } of this.#runners.values()) if (record.run) return;
          resolve();
        };
        this.listen({ changed: check, event: () => {}, forgotten: check });
        check();
      })
    );
    await waitAtMost(timeoutMs, ended);
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
    const deps = record.hold === undefined ? this.#deps : { ...this.#deps, save: async () => {} };
    const runner = new AppRunner(record, deps);
    this.#runners.set(keyOf(record.app), runner);
    if (this.#halted) void runner.halt(this.#halted);
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
        this.#prober.forget(app.key);
        this.#runners.delete(app.key);
        for (const listener of this.#listeners) listener.forgotten(app);
      },
    };
  }

  #describe(record: AppRecord): SupervisedApp {
    const key = keyOf(record.app);
    return { key, record, caps: this.#runners.get(key)?.caps, probeFailures: this.#prober.failures(key) };
  }

  #changed(record: AppRecord): void {
    this.#prober.follow(record);
    this.#options.limitFiles.update(record.app);
    const app = this.#describe(record);
    for (const listener of this.#listeners) listener.changed(app);
  }

  #emit(app: SupervisedApp | undefined, event: AppEvent): void {
    if (app) { for (const listener of this.#listeners) listener.event(app, event); }
  }

  #watchMarks(): () => void {
    const { layout, log } = this.#options;
    // Without a list per app: each of hundreds of starts leaves several marks.
    const poke = (runId: string | undefined) => {
      for (const runner of this.#runners.values()) {
        const { run, others } = runner.record;
        const isIts = runId === undefined || run?.id === runId || others?.some(({ id }) => id === runId);
        if (isIts) runner.poke();
      }
    };
    return watchMarks(
      marksFolder(layout),
      poke,
      (error) => log.error("cannot watch for exits; every sync checks instead", { error }),
    );
  }
}

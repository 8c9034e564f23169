/**
 * All apps of a node: one runner each, wired to the real disk, kernel and launchers.
 *
 * What is on disk is adopted first, so that apps started by an earlier agent go on under this one. Then the sync layer says
 * which apps are wanted; each runner brings its own app there, so that a slow one never delays another.
 */
import { randomBytes } from "node:crypto";
import { watch } from "node:fs";
import { chmod, readdir, rm } from "node:fs/promises";
import process from "node:process";
import { appKey } from "../api/names.ts";
import { ensureFolder } from "../lib/files.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { capsOf } from "./caps.ts";
import type { CapsState, Confinement, RunRef, Usage } from "./confinement.ts";
import type { ResolveValue } from "./environment.ts";
import { runInside } from "./inside.ts";
import { type Enforce, type LaunchDeps, launchRun } from "./launch.ts";
import {
  appsFolder,
  type Layout,
  logFolder,
  logPath,
  markPath,
  marksFolder,
  runFolder,
  runsFolder,
} from "./layout.ts";
import { readTail } from "./log-reader.ts";
import { logPolicyOf } from "./log-policy.ts";
import { rotateIfNeeded, type RotationPolicy } from "./log-rotation.ts";
import { cancelRun, listMarkedRuns, removeMarks, runOfMark } from "./marks.ts";
import { performProbe } from "./probes/perform.ts";
import { createProber, hasProbes, type Prober } from "./probes/prober.ts";
import { observeRun } from "./observe.ts";
import { readBootId } from "./processes.ts";
import { createRecordStore, folderOf, readRunRecord, saveRunRecord } from "./record-store.ts";
import { AppRunner, type Desired, newRecord, type RunnerDeps } from "./runner.ts";
import { StartError } from "./start-error.ts";
import type { AppEvent, AppRecord, Run, RunnableApp, StartProblem } from "./types.ts";

export interface SupervisorOptions {
  layout: Layout;
  confinement: Confinement;
  nodeName: string;
  enforce: Enforce;
  log: Logger;
  resolveValue: ResolveValue;
  fetchScript: LaunchDeps["fetchScript"];
  /** How long logs may get, unless an app says otherwise. */
  logs: RotationPolicy;
  now?: () => number;
  /** Stands between the runners and their effects: for tests that break one. */
  decorate?: (deps: RunnerDeps) => RunnerDeps;
}

export interface SupervisorListener {
  changed(key: string): void;
  event(app: RunnableApp, event: AppEvent): void;
  forgotten(key: string, record: AppRecord): void;
}

/** An app as the supervisor knows it. */
export interface SupervisedApp {
  key: string;
  record: AppRecord;
  caps?: CapsState;
}

export class Supervisor {
  readonly #options: SupervisorOptions & { now: () => number };
  readonly #runners = new Map<string, AppRunner>();
  readonly #listeners = new Set<SupervisorListener>();
  #deps: RunnerDeps | undefined;
  readonly #prober: Prober;
  #stopWatching = () => {};

  constructor(options: SupervisorOptions) {
    this.#options = { now: Date.now, ...options };
    this.#prober = createProber({
      perform: (probe, { runId, spec }) =>
        performProbe(probe, { ports: spec.ports, runFolder: runFolder(options.layout, runId) }),
      onFailed: ({ key, runId }, message) => this.#runners.get(key)?.failProbe(runId, message),
      onReady: ({ key, runId }, ready) => this.#runners.get(key)?.setProbed(runId, { ready }),
      onStarted: ({ key, runId }) => this.#runners.get(key)?.setProbed(runId, { startupPassed: true }),
      onUnhealthy: ({ key }, message) => this.#tell(key, { type: "Warning", reason: "Unhealthy", message }),
    });
  }

  listen(listener: SupervisorListener): void {
    this.#listeners.add(listener);
  }

  /** Takes over what earlier agents left: records, living processes, marks; removes what belongs to nothing. */
  async restore(): Promise<void> {
    const { layout, log, now } = this.#options;
    // Apps' own users must reach downloaded scripts, which are public; all else below is private.
    await ensureFolder(layout.stateDir, { mode: 0o711 });
    await chmod(layout.stateDir, 0o711);
    for (const folder of [appsFolder(layout), runsFolder(layout), marksFolder(layout)]) {
      await ensureFolder(folder);
    }
    await ensureFolder(layout.logDir, { mode: 0o755 });
    const store = createRecordStore(layout, log, now);
    const { decorate = (deps) => deps } = this.#options;
    this.#deps = decorate(this.#wire(store, await readBootId()));
    const records = await this.#recover(await store.load());
    for (const record of records) this.#addRunner(record);
    await this.#removeLeftovers(records);
    await this.rotateLogs();
    this.#stopWatching = this.#watchMarks();
    for (const runner of this.#runners.values()) this.#watchProbes(runner);
    await Promise.all([...this.#runners.values()].map((runner) => runner.adopt()));
  }

  /** Wants this app to be as desired; a new one begins its life here. */
  assign(desired: Desired): void {
    const key = keyOf(desired.app);
    const known = this.#runners.get(key);
    if (known) return known.assign(desired);
    const runner = this.#addRunner(newRecord(desired));
    this.#changed(runner);
    runner.poke();
  }

  /** Wants this app gone; it is forgotten when nothing of it is left. */
  withdraw(key: string): void {
    this.#runners.get(key)?.withdraw();
  }

  /** Ends a running app because the node is short of memory; it is tried again after its longest backoff. */
  evict(key: string, message: string): void {
    this.#runners.get(key)?.evict(message);
  }

  get(key: string): SupervisedApp | undefined {
    const runner = this.#runners.get(key);
    return runner && { key, record: runner.record, caps: runner.caps };
  }

  list(): SupervisedApp[] {
    return [...this.#runners].map(([key, runner]) => ({ key, record: runner.record, caps: runner.caps }));
  }

  /** Looks at every app again, whatever was or was not notified. */
  tick(): void {
    for (const runner of this.#runners.values()) runner.poke();
  }

  /** The kernel's counters for a running app. */
  async readUsage(key: string): Promise<Usage | undefined> {
    const record = this.#runners.get(key)?.record;
    if (!record?.run || record.phase !== "Running") return undefined;
    return await this.#options.confinement.usage(refOf(record, record.run));
  }

  /** Rotates the logs that have grown too long; one after the other, since the disk is the same. */
  async rotateLogs(): Promise<void> {
    const { layout, log, logs } = this.#options;
    for (const { key, record } of this.list()) {
      const { policy, problem: wrong } = logPolicyOf(record.app, logs);
      const { problem, droppedBytes, lossless } = await rotateIfNeeded(
        logPath(layout, folderOf(record.app)),
        policy,
      );
      if (wrong) log.warn("a log annotation is passed over", { app: key, why: wrong });
      if (problem) log.warn("a log could not be rotated", { app: key, error: problem });
      if (!lossless) log.debug("a log was cut where its file system may lose a line", { app: key });
      if (droppedBytes > 0) log.warn("a log grew faster than it may be kept", { app: key, droppedBytes });
    }
  }

  /** Ends every run and waits for that, for an agent that takes its apps with it. What is known of the apps stays. */
  async stopAll(timeoutMs: number): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      const check = () => void (this.list().every(({ record }) => !record.run) && resolve());
      this.listen({ changed: check, event: () => {}, forgotten: check });
      check();
    });
    for (const runner of this.#runners.values()) runner.halt();
    const patience = new AbortController();
    await Promise.race([ended, sleep(timeoutMs, patience.signal)]);
    patience.abort();
  }

  /** Lets go of all apps: they run on, and the next agent adopts them. */
  async close(): Promise<void> {
    this.#stopWatching();
    this.#prober.close();
    await Promise.all([...this.#runners.values()].map((runner) => runner.close()));
  }

  #addRunner(record: AppRecord): AppRunner {
    const runner = new AppRunner(record, this.#required());
    this.#runners.set(keyOf(record.app), runner);
    return runner;
  }

  #required(): RunnerDeps {
    if (!this.#deps) throw new Error("restore() comes first");
    return this.#deps;
  }

  #tell(key: string, event: AppEvent): void {
    const app = this.#runners.get(key)?.record.app;
    if (app) { for (const listener of this.#listeners) listener.event(app, event); }
  }

  /** Probes go with the run: they begin when it runs and end with it. */
  #watchProbes({ record: { app, run, phase } }: AppRunner): void {
    const { startupProbe, livenessProbe, readinessProbe, ports } = app.spec;
    const spec = { startupProbe, livenessProbe, readinessProbe, ports };
    if (phase !== "Running" || !run || !hasProbes(spec)) return this.#prober.stop(keyOf(app));
    this.#prober.watch({
      key: keyOf(app),
      runId: run.id,
      startedAt: run.startedAt ?? run.createdAt,
      startupPassed: run.startupPassed,
      spec,
    });
  }

  #changed(runner: AppRunner): void {
    this.#watchProbes(runner);
    for (const listener of this.#listeners) listener.changed(keyOf(runner.record.app));
  }

  #wire(store: ReturnType<typeof createRecordStore>, bootId: string): RunnerDeps {
    const { layout, confinement, log, now } = this.#options;
    return {
      now,
      bootId,
      log,
      newRunId: () => `${Math.floor(now()).toString(36)}-${randomBytes(5).toString("hex")}`,
      save: (record) => store.save(record),
      observe: (record, run) => observeRun(folderOf(record.app), run, { layout, confinement, bootId }),
      cancel: (run) => cancelRun(markPath(layout, run.id)),
      thaw: (record, run) => confinement.thaw(refOf(record, run)),
      launch: (record, run, signal) => this.#launch(record, run, signal),
      runStopFile: (record, run) => this.#runStopFile(record, run),
      terminate: (record, run) => confinement.terminate(refOf(record, run)),
      kill: (record, run) => confinement.kill(refOf(record, run)),
      cleanUp: (record, run) => this.#cleanUp(refOf(record, run)),
      ensureCaps: (record) => confinement.ensureCaps(folderOf(record.app), capsOf(record.app)),
      forget: (record) => this.#forget(record, store),
      logTail: (record) => readTail(logFolder(layout, folderOf(record.app))),
      onEmpty: (record, run, callback) => confinement.onEmpty(refOf(record, run), callback),
      onChange: (runner) => this.#changed(runner),
      onEvent: (record, event) => {
        for (const listener of this.#listeners) listener.event(record.app, event);
      },
      onForgotten: (runner) => {
        const { record } = runner;
        this.#prober.stop(keyOf(record.app));
        this.#runners.delete(keyOf(record.app));
        for (const listener of this.#listeners) listener.forgotten(keyOf(record.app), record);
      },
    };
  }

  async #launch(record: AppRecord, run: Run, signal: AbortSignal): Promise<StartProblem | undefined> {
    const { layout, confinement, nodeName, enforce, resolveValue, fetchScript } = this.#options;
    const isRoot = process.getuid?.() === 0;
    const deps: LaunchDeps = { layout, confinement, nodeName, enforce, isRoot, resolveValue, fetchScript };
    try {
      await saveRunRecord(runFolder(layout, run.id), record);
      await launchRun(record.app, run, deps, signal);
      return undefined;
    } catch (error) {
      // Nothing may come to life any more from a start that is given up. The spawn is its last step: where even this
      // fails there is no launcher either.
      await cancelRun(markPath(layout, run.id)).catch((cause) =>
        this.#options.log.warn("cannot call a run off", { cause })
      );
      if (signal.aborted) return undefined;
      if (error instanceof StartError) return { reason: error.reason, message: error.message };
      return { reason: "StartFailed", message: (error as Error).message };
    }
  }

  async #runStopFile(record: AppRecord, run: Run): Promise<void> {
    const { layout, log, now } = this.#options;
    const { stopFile = "" } = record.app.spec;
    const timeoutMs = Math.max(0, (run.stop?.deadline ?? 0) - now());
    const command = ["/bin/sh", "-c", '[ -x "$0" ] && exec "$0"; exec /bin/sh "$0"', stopFile];
    try {
      const result = await runInside(runFolder(layout, run.id), command, {
        timeoutMs,
        log: logPath(layout, folderOf(record.app)),
      });
      if (result.code !== 0) log.warn("a stop file failed", { app: keyOf(record.app), stopFile, ...result });
    } catch (error) {
      log.warn("a stop file could not be run", { app: keyOf(record.app), stopFile, error });
    }
  }

  async #cleanUp(run: RunRef): Promise<void> {
    const { layout, confinement } = this.#options;
    await confinement.removeRun(run);
    await rm(runFolder(layout, run.runId), { recursive: true, force: true });
    await removeMarks(markPath(layout, run.runId));
  }

  async #forget(record: AppRecord, store: ReturnType<typeof createRecordStore>): Promise<void> {
    const folder = folderOf(record.app);
    await this.#options.confinement.removeApp(folder);
    await rm(logFolder(this.#options.layout, folder), { recursive: true, force: true });
    await store.remove(record);
  }

  /** Each run's folder holds the record as it was when the run began: it serves where the app's own record is lost. */
  async #recover(records: AppRecord[]): Promise<AppRecord[]> {
    const { layout, log } = this.#options;
    const known = new Set(records.map(({ app }) => keyOf(app)));
    const recovered: AppRecord[] = [];
    for (const runId of await readdir(runsFolder(layout))) {
      const record = await readRunRecord(runFolder(layout, runId), log);
      if (!record || record.run?.id !== runId || known.has(keyOf(record.app))) continue;
      log.warn("took an app over from its run, since its state file was lost", {
        app: keyOf(record.app),
        run: runId,
      });
      known.add(keyOf(record.app));
      recovered.push(record);
    }
    return [...records, ...recovered];
  }

  /** Runs that no record knows: an agent died between the end of a run and its clean-up, or all that was known is lost. */
  async #removeLeftovers(records: AppRecord[]): Promise<void> {
    const { layout, confinement, log } = this.#options;
    const known = new Set(records.flatMap(runsOf).map(({ id }) => id));
    const placed = await confinement.listRuns();
    const written = [...await readdir(runsFolder(layout)), ...await listMarkedRuns(marksFolder(layout))];
    const unplaced = [...new Set(written)].filter((runId) => !placed.some((run) => run.runId === runId));
    const runs: RunRef[] = [...placed, ...unplaced.map((runId) => ({ folder: "", runId }))];
    for (const run of runs.filter(({ runId }) => !known.has(runId))) {
      log.warn("removing a run that no record knows", { ...run });
      try {
        await cancelRun(markPath(layout, run.runId));
        await confinement.kill(run);
        await this.#cleanUp(run);
      } catch (error) {
        // It is tried again by the next agent; what is left of it keeps nobody from starting.
        log.warn("a run could not be removed", { ...run, error });
      }
    }
  }

  /** One watch for all launchers: whatever a run's mark says, its app looks again. */
  #watchMarks(): () => void {
    const look = (_event: string, file: string | null) => {
      const runId = file === null ? undefined : runOfMark(String(file));
      for (const runner of this.#runners.values()) {
        if (runId === undefined || runsOf(runner.record).some(({ id }) => id === runId)) runner.poke();
      }
    };
    const complain = (error: unknown) =>
      this.#options.log.error("cannot watch for exits; every sync looks instead", { error });
    try {
      const watcher = watch(marksFolder(this.#options.layout), look).on("error", complain);
      return () => watcher.close();
    } catch (error) {
      complain(error);
      return () => {};
    }
  }
}

/** How an app is named everywhere: `namespace/name`. */
export function keyOf(app: RunnableApp): string {
  return appKey(app.metadata.namespace ?? "default", app.metadata.name);
}

function runsOf({ run, others = [] }: AppRecord): Run[] {
  return run ? [run, ...others] : others;
}

function refOf(record: AppRecord, run: Run): RunRef {
  return { folder: folderOf(record.app), runId: run.id, main: run.main };
}

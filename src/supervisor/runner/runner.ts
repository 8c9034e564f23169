/**
 * The worker of one app. Each step observes the app's runs, decides, saves the record and performs the effects.
 *
 * Guarantees: steps of one app never overlap; a poke during a step leads to another step; the record is on disk before
 * its effects; the end of a run is reported before its clean-up, which comes before the next start. An effect that throws is
 * logged and retried by a later step, never dropped.
 */
import type { Desired } from "../../api/app-shapes.ts";
import { CleanUps } from "./clean-ups.ts";
import type { CapsState } from "../confinement/confinement.ts";
import {
  decideAll,
  editEvent,
  hasVisibleCause,
  isOver,
  mergeDesired,
  mergeOrder,
  mergeProbeState,
  mergeUndoRequest,
  newRecord,
  type Order,
  progressDeadline,
  restartTrial,
  retryFailedStart,
  runHash,
  type RunProbeState,
  type Situation,
} from "../decide/decide.ts";
import { EmptyWatch } from "./empty-watch.ts";
import { looksUnchanged, planQuickCheck, type QuickCheck } from "./quick-check.ts";
import type { RunnerDeps } from "./effects.ts";
import { refuseReload } from "./reload.ts";
import { mayStartAgain, runsOf } from "../run-ref.ts";
import { keyOf } from "../../api/names.ts";
import { StartAttempt } from "./start-attempt.ts";
import { StepLoop } from "./step-loop.ts";
import type {
  AppEvent,
  AppRecord,
  Effect,
  HaltReason,
  RunnableApp,
  StartProblem,
  StopFileEnd,
} from "../types.ts";

export type { RunnerDeps } from "./effects.ts";
export { reloadMs } from "./reload.ts";
export { cleanUpRun, createRunEffects, type RunEffectsOptions } from "./real-effects.ts";
export { spread } from "./spread.ts";

export class AppRunner {
  readonly #deps: RunnerDeps;
  readonly #loop: StepLoop;
  readonly #emptyWatch: EmptyWatch;
  readonly #cleanUps: CleanUps;
  readonly #start = new StartAttempt();
  readonly #closing = new AbortController();
  #record: AppRecord;
  #next: Desired | "withdrawn" | undefined;
  #successor: Desired | undefined;
  #problem: StartProblem | undefined;
  #stopFileEnd: StopFileEnd | undefined;
  #terminated: string | undefined;
  #caps: CapsState | undefined;
  /** The app whose caps the last start has set. */
  #capped: RunnableApp | undefined;
  #eviction: string | undefined;
  #probeFailure: { runId: string; message: string } | undefined;
  #probeState: RunProbeState | undefined;
  #halted: HaltReason | undefined;
  #orders: { order: Order; saved: PromiseWithResolvers<void> }[] = [];
  #quickCheck: QuickCheck | undefined;
  #isSaved = true;
  /** Whether something was missing for a start when that was last looked at. */
  #isBlocked = true;
  #isReloading = false;

  constructor(record: AppRecord, deps: RunnerDeps) {
    this.#record = record;
    this.#deps = deps;
    this.#loop = new StepLoop({
      step: () => this.#step(),
      quickCheck: () => this.#runQuickCheck(),
      onError: (error) => deps.log.error("step failed", { app: this.#key, error }),
      now: deps.now,
    });
    this.#emptyWatch = new EmptyWatch((record, run) => deps.onEmpty(record, run, () => this.poke()));
    this.#cleanUps = new CleanUps(
      (run) => deps.cleanUp(this.#record, run),
      (run, error) => deps.log.warn("cannot clean up a run yet", { app: this.#key, run: run.id, error }),
    );
  }

  get record(): AppRecord {
    return this.#record;
  }

  get caps(): CapsState | undefined {
    return this.#caps;
  }

  /** Takes over from an earlier agent: cancels a start that was not claimed and undoes a freeze, then takes a step. */
  async adopt(): Promise<void> {
    this.#record = restartTrial(retryFailedStart(this.#record), this.#deps.now());
    const { run, phase } = this.#record;
    try {
      if (run && phase === "Starting") await this.#deps.cancel(run);
      if (phase === "Stopping") {
        await Promise.all(runsOf(this.#record).map((run) => this.#deps.thaw(this.#record, run)));
      }
    } catch (error) {
      this.#deps.log.error("cannot take over from an earlier agent", { app: this.#key, error });
    }
    this.poke();
  }

  assign(desired: Desired): void {
    this.#next = desired;
    const { deletionTimestamp } = desired.app.metadata;
    const changes = runHash(desired.app) !== this.#record.run?.hash || desired.app.spec.suspend;
    // An invalid spec changes nothing that runs or starts.
    if (deletionTimestamp || changes && !desired.invalid) {
      this.#start.cancel(new Error("the app was changed"));
    }
    this.poke();
  }

  withdraw(): void {
    this.#next = "withdrawn";
    this.#start.cancel(new Error("the app was withdrawn"));
    this.poke();
  }

  /** Carries out an order of the operator; resolves when the record has it. */
  order(order: Order): Promise<void> {
    const saved = Promise.withResolvers<void>();
    this.#orders.push({ order, saved });
    if (order === "stop") this.#start.cancel(new Error("the app was stopped"));
    this.poke();
    return saved.promise;
  }

  /** Makes the app reload its configuration, and reports how that went; `refused` says why it cannot. */
  async reload(): Promise<{ refused: string } | AppEvent> {
    const record = this.#record;
    const refused = refuseReload(record) ??
      (this.#isReloading ? `${this.#key} is being reloaded already` : undefined);
    if (refused !== undefined || !record.run) return { refused: refused ?? "" };
    this.#isReloading = true;
    try {
      const event = await this.#deps.reload(record, record.run, this.#closing.signal);
      this.#deps.onEvent(this.#record, event);
      return event;
    } finally {
      this.#isReloading = false;
    }
  }

  /** A liveness or startup probe of this run failed for good. */
  failProbe(runId: string, message: string): void {
    this.#probeFailure = { runId, message };
    this.poke();
  }

  setProbeState(runId: string, state: Omit<RunProbeState, "runId">): void {
    const known = this.#probeState?.runId === runId ? this.#probeState : undefined;
    const probeErrors = { ...known?.probeErrors, ...state.probeErrors };
    this.#probeState = { ...known, ...state, probeErrors, runId };
    this.poke();
  }

  /** The agent ends and stops its apps: this one stops, and nothing starts again. Resolves when the step under way is done. */
  halt(reason: HaltReason): Promise<void> {
    this.#halted = reason;
    this.#start.close();
    this.poke();
    return this.#loop.settled();
  }

  /** The node is short of memory and evicts this app. */
  evict(message: string): void {
    this.#eviction = message;
    this.poke();
  }

  /** Something may have happened: take a step. */
  poke(): void {
    this.#loop.poke();
  }

  /** The regular check, though nothing was reported: a quick one if that is enough, else a step. */
  check(): void {
    this.#loop.check();
  }

  /** Ends the worker and leaves the app alone; resolves when the step under way is done. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#start.close();
    this.#emptyWatch.close();
    await this.#loop.close();
    if (this.#isSaved) return;
    // The marks say the same to the next agent.
    await this.#save(this.#record).catch((error) =>
      this.#deps.log.warn("cannot save that an app runs", { app: this.#key, error })
    );
  }

  /** Returns whether a step is needed. Caps are checked each time, since nothing reports a change there. */
  async #runQuickCheck(): Promise<boolean> {
    if (!this.#isSaved) await this.#save(this.#record);
    if (!this.#quickCheck || !looksUnchanged(this.#quickCheck, this.#deps.now())) return true;
    await this.#ensureCaps();
    return false;
  }

  async #step(): Promise<boolean> {
    this.#quickCheck = undefined;
    await this.#applyDesired();
    await this.#applyOrders();
    await this.#applyProbeState();
    const situation = await this.#observe();
    const { record, effects, events, wakeAt, isSettled } = decideAll(this.#record, situation);
    const changed = record !== this.#record;
    if (changed && isInMarks(this.#record, record, effects)) {
      this.#record = record;
      this.#isSaved = false;
    } else if (changed) await this.#save(record);
    for (const event of events) this.#deps.onEvent(record, event);
    // A clean-up may take seconds: the end of a run is reported before it. That of a deleted app says that nothing is left.
    const isEarly = !record.app.metadata.deletionTimestamp &&
      (!this.#cleanUps.done || effects.some(({ kind }) => kind === "cleanUp"));
    if (changed && isEarly) this.#deps.onChange(record);
    await this.#cleanUps.retry();
    for (const effect of effects) {
      await this.#perform(effect);
      // The stop file may still run: what comes after it is left to the next agent.
      if (effect.kind === "stopFile" && this.#loop.closed) break;
    }
    if (this.#loop.closed) return false;
    this.#emptyWatch.update(this.#record, situation.view);
    if (changed && !isEarly) this.#deps.onChange(this.#record);
    // The launcher of a start writes a mark, which leads to the next step.
    const awaitsMark = wakeAt !== undefined && record.phase === "Starting";
    if (this.#problem || this.#stopFileEnd || !isSettled && !awaitsMark) return true;
    if (wakeAt !== undefined) this.#loop.wakeAt(wakeAt);
    if (this.#cleanUps.done) this.#quickCheck = planQuickCheck(this.#record, situation.view, situation.now);
    return this.#next !== undefined || this.#orders.length > 0;
  }

  async #applyDesired(): Promise<void> {
    const next = this.#next;
    if (next === undefined) return;
    this.#next = undefined;
    const { record: merged, successor } = mergeDesired(this.#record, next);
    const record = mergeUndoRequest(this.#record, merged, this.#deps.now());
    this.#successor = successor;
    const edit = editEvent(this.#record, merged);
    if (record !== this.#record) await this.#save(record);
    if (edit) this.#deps.onEvent(record, edit);
    if (!record.withdrawn) this.#deps.onChange(record);
  }

  async #applyOrders(): Promise<void> {
    const orders = [...this.#orders];
    if (orders.length === 0) return;
    const record = orders.reduce(
      (record, { order }) => mergeOrder(record, order, this.#deps.now()),
      this.#record,
    );
    if (record !== this.#record) await this.#save(record);
    // A save that failed is tried again by the next step, with the same orders.
    this.#orders = this.#orders.slice(orders.length);
    for (const { saved } of orders) saved.resolve();
    this.#deps.onChange(record);
  }

  async #applyProbeState(): Promise<void> {
    const state = this.#probeState;
    if (state === undefined) return;
    this.#probeState = undefined;
    const record = mergeProbeState(this.#record, state, this.#deps.now());
    if (record === this.#record) return;
    await this.#save(record);
    this.#deps.onChange(record);
  }

  async #observe(): Promise<Situation> {
    const { now, bootId, newRunId, observe, logTail } = this.#deps;
    const leafOf = (runId: string) => this.#deps.leafOf(this.#record, runId);
    const { run, others, app } = this.#record;
    const [problem, stopFileEnd] = [this.#problem, this.#stopFileEnd];
    this.#problem = this.#stopFileEnd = undefined;
    const base = { bootId, newRunId, leafOf, problem, halted: this.#halted, nextRun: await nextRunOf(app) };
    if (!run) {
      this.#eviction = undefined;
      const { refused } = this.#record;
      const wantedScript = refused?.script ? await this.#deps.readScript(refused.app) : undefined;
      return { ...base, causeGone: await this.#isCauseGone(), wantedScript, now: now() };
    }
    if (this.#record.phase === "Running") this.#isBlocked = true;
    const { waitedMs } = this.#start;
    const view = await observe(this.#record, run, waitedMs);
    // A run without a launcher looks the same before its start as after its end.
    const ended = this.#record.phase !== "Starting" && isOver(view);
    const isLate = now() >= (progressDeadline(this.#record) ?? Infinity);
    return {
      ...base,
      now: now(),
      others: others && await Promise.all(others.map((other) => observe(this.#record, other))),
      view,
      waitedMs,
      logTail: ended || isLate ? await logTail(this.#record) : undefined,
      stopFileEnd,
      terminated: this.#terminated === run.id,
      eviction: this.#eviction,
      probeFailure: this.#probeFailure?.runId === run.id ? this.#probeFailure.message : undefined,
    };
  }

  /** A start that fails although the look finds nothing is not repeated for that: it waits for its time. */
  async #isCauseGone(): Promise<boolean> {
    if (!hasVisibleCause(this.#record)) return false;
    const wasBlocked = this.#isBlocked;
    this.#isBlocked = await this.#deps.isBlocked(this.#record);
    return wasBlocked && !this.#isBlocked;
  }

  async #perform(effect: Effect): Promise<void> {
    const deps = this.#deps;
    switch (effect.kind) {
      case "start": {
        // The next step handles the problem, if there is one.
        using attempt = this.#start.begin();
        const { problem, caps } = await deps.startRun(this.#record, effect.run, attempt.signal);
        this.#problem = problem;
        // Not beside another run: the caps of that one count, too.
        const isCapped = caps?.enforced && !this.#record.others;
        this.#capped = isCapped ? this.#record.app : undefined;
        if (isCapped && !this.#caps?.enforced) this.#caps = caps;
        return;
      }
      case "stopFile":
        // The next step handles its end.
        this.#stopFileEnd = await deps.runStopFile(this.#record, effect.run, this.#closing.signal);
        return;
      case "terminate":
        if (effect.run.id === this.#record.run?.id) this.#terminated = effect.run.id;
        return await deps.terminate(this.#record, effect.run);
      case "kill":
        return await deps.kill(this.#record, effect.run);
      case "copyLog":
        return await deps.copyLog(this.#record, effect.run);
      case "cancel":
        return await deps.cancel(effect.run);
      case "cleanUp":
        return await this.#cleanUps.perform(effect.run);
      case "ensureCaps":
        return await this.#ensureCaps();
      case "forget":
        return await this.#forget();
    }
  }

  async #ensureCaps(): Promise<void> {
    // They were in force before the script was started.
    const isSet = this.#capped === this.#record.app;
    this.#capped = undefined;
    if (isSet) return;
    const caps = await this.#deps.ensureCaps(this.#record);
    if (isSameState(caps, this.#caps)) return;
    this.#caps = caps;
    this.#deps.onChange(this.#record);
  }

  async #forget(): Promise<void> {
    // What is left of a run would bring the app back with the next agent.
    if (!this.#cleanUps.done) throw new Error("cannot forget the app before all its runs are cleaned up");
    await this.#deps.forget(this.#record);
    const successor = this.#next ?? this.#successor;
    this.#next = this.#successor = this.#caps = undefined;
    if (successor !== undefined && successor !== "withdrawn") {
      await this.#save(newRecord(successor));
      this.poke();
      return;
    }
    // Not awaited: this is a step of the loop, and close() waits for it.
    void this.#loop.close();
    this.#deps.onForgotten(this.#record);
  }

  async #save(record: AppRecord): Promise<void> {
    await this.#deps.save(record);
    this.#record = record;
    this.#isSaved = true;
  }

  get #key(): string {
    return keyOf(this.#record.app);
  }
}

/**
 * Reports whether all that is new is that the run has started. The marks say so too, until the run ends: after a crash, the next
 * agent finds the same. So the record is saved with the next change or check, and hundreds of starts at once do not wait for it. What
 * must not run twice, even after a power cut, is saved at once.
 */
function isInMarks(before: AppRecord, record: AppRecord, effects: Effect[]): boolean {
  return before.phase === "Starting" && record.phase === "Running" && mayStartAgain(record) &&
    before.good === record.good &&
    record.run?.survivor === undefined && effects.every(({ kind }) => kind === "ensureCaps");
}

function isSameState(a: CapsState, b: CapsState | undefined): boolean {
  if (a.enforced || !b || b.enforced) return a.enforced === b?.enforced;
  return a.reason === b.reason && a.message === b.message;
}

/** Loads the schedule parser only for an app with a schedule: it costs memory that most nodes can save. */
async function nextRunOf({ spec }: RunnableApp): Promise<Situation["nextRun"]> {
  const { schedule, timeZone } = spec;
  if (!schedule) return undefined;
  const { nextRun } = await import("../cron-times.ts");
  return (after) => nextRun(schedule, timeZone, after);
}

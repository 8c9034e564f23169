/**
 * The worker of one app: looks, decides, writes down, acts; one step at a time, each app by itself.
 *
 * Guarantees: steps of one app never overlap; a poke during a step leads to another step; the record is on disk before
 * its effects. An effect that throws is logged and tried again by a later step, never dropped.
 */
import { CleanUps } from "./clean-ups.ts";
import type { CapsState } from "../confinement/confinement.ts";
import {
  decide,
  type Desired,
  mergeDesired,
  mergeProbed,
  newRecord,
  type ProbedRun,
  runHash,
  type Situation,
} from "../decide/decide.ts";
import { EmptyWatch } from "./empty-watch.ts";
import { nextRunOf } from "../next-run.ts";
import { isStillQuiet, type Quiet, quietSince } from "./quick-check.ts";
import type { RunnerDeps } from "./effects.ts";
import { runsOf } from "../run-ref.ts";
import { keyOf } from "../../api/names.ts";
import { StartAttempt } from "./start-attempt.ts";
import { StepLoop } from "./step-loop.ts";
import type { AppRecord, Effect, Run, StartProblem } from "../types.ts";

export type { RunnerDeps } from "./effects.ts";
export { cleanUpRun, createRunEffects, type RunEffectsOptions } from "./real-effects.ts";
export { spread } from "./spread.ts";

export type { Desired } from "../decide/decide.ts";

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
  #terminated: string | undefined;
  #caps: CapsState | undefined;
  #eviction: string | undefined;
  #probeFailure: { runId: string; message: string } | undefined;
  #probed: ProbedRun | undefined;
  #halted = false;
  #quiet: Quiet | undefined;

  constructor(record: AppRecord, deps: RunnerDeps) {
    this.#record = record;
    this.#deps = deps;
    this.#loop = new StepLoop({
      step: () => this.#step(),
      glance: () => this.#glance(),
      onError: (error) => deps.log.error("a step failed", { app: this.#name, error }),
      now: deps.now,
    });
    this.#emptyWatch = new EmptyWatch((record, run) => deps.onEmpty(record, run, () => this.poke()));
    this.#cleanUps = new CleanUps(
      (run) => deps.cleanUp(this.#record, run),
      (run, error) =>
        deps.log.warn("a run could not be cleared away yet", { app: this.#name, run: run.id, error }),
    );
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
      if (phase === "Stopping") {
        await Promise.all(runsOf(this.#record).map((run) => this.#deps.thaw(this.#record, run)));
      }
    } catch (error) {
      this.#deps.log.error("cannot settle what was left undecided", { app: this.#name, error });
    }
    this.poke();
  }

  assign(desired: Desired): void {
    this.#next = desired;
    const changes = runHash(desired.app) !== this.#record.run?.hash || desired.app.spec.suspend;
    // A spec that makes no sense changes nothing of what runs, or is about to.
    if (changes && !desired.invalid) this.#start.cancel(new Error("the app was changed"));
    this.poke();
  }

  withdraw(): void {
    this.#next = "withdrawn";
    this.#start.cancel(new Error("the app was withdrawn"));
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

  /** The agent takes its apps with it: this one ends, and nothing begins any more. Resolves when the step under way is done. */
  halt(): Promise<void> {
    this.#halted = true;
    this.#start.close();
    this.poke();
    return this.#loop.settled();
  }

  /** The node is short of memory and this app has to go. */
  evict(message: string): void {
    this.#eviction = message;
    this.poke();
  }

  /** Something may have happened: look again. */
  poke(): void {
    this.#loop.poke();
  }

  /** Nothing was heard, but a look is due: a short one if that will do. */
  glance(): void {
    this.#loop.glance();
  }

  /** Ends the worker and leaves the app alone; resolves when the step under way is done. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#start.close();
    this.#emptyWatch.close();
    await this.#loop.close();
  }

  /** The caps are looked at each time, since nobody tells of a change there. */
  async #glance(): Promise<boolean> {
    if (!this.#quiet || !isStillQuiet(this.#quiet, this.#deps.now())) return true;
    await this.#ensureCaps();
    return false;
  }

  async #step(): Promise<boolean> {
    this.#quiet = undefined;
    await this.#takeDesired();
    await this.#takeProbed();
    await this.#cleanUps.tryAgain();
    const situation = await this.#look();
    const { record, effects, events, wakeAt } = decide(this.#record, situation);
    const changed = record !== this.#record;
    if (changed) await this.#save(record);
    for (const event of events) this.#deps.onEvent(record, event);
    for (const effect of effects) {
      await this.#perform(effect);
      // The stop file may have been left running: what comes after its end is for the next agent.
      if (effect.kind === "stopFile" && this.#loop.closed) break;
    }
    if (this.#loop.closed) return false;
    this.#emptyWatch.follow(this.#record, situation.view);
    if (changed || this.#problem) {
      this.#deps.onChange(this.#record);
      return true;
    }
    if (wakeAt !== undefined) this.#loop.wakeAt(wakeAt);
    if (this.#cleanUps.done) this.#quiet = quietSince(this.#record, situation.view, situation.now);
    return this.#next !== undefined;
  }

  async #takeDesired(): Promise<void> {
    const next = this.#next;
    if (next === undefined) return;
    this.#next = undefined;
    const { record, successor } = mergeDesired(this.#record, next);
    this.#successor = successor;
    if (record !== this.#record) await this.#save(record);
    if (!record.withdrawn) this.#deps.onChange(record);
  }

  async #takeProbed(): Promise<void> {
    const probed = this.#probed;
    if (probed === undefined) return;
    this.#probed = undefined;
    const record = mergeProbed(this.#record, probed);
    if (record === this.#record) return;
    await this.#save(record);
    this.#deps.onChange(record);
  }

  async #look(): Promise<Situation> {
    const { now, bootId, newRunId, observe, logTail } = this.#deps;
    const leafOf = (runId: string) => this.#deps.leafOf(this.#record, runId);
    const { run, others, app } = this.#record;
    const problem = this.#problem;
    this.#problem = undefined;
    const base = { bootId, newRunId, leafOf, problem, halted: this.#halted, nextRun: await nextRunOf(app) };
    if (!run) {
      this.#eviction = undefined;
      return { ...base, now: now() };
    }
    const { waitedMs } = this.#start;
    const view = await observe(this.#record, run, waitedMs);
    const ended = view.processes.length === 0 && (view.exit !== undefined || !view.launcherAlive);
    return {
      ...base,
      now: now(),
      others: others && await Promise.all(others.map((other) => observe(this.#record, other))),
      view,
      waitedMs,
      logTail: ended ? await logTail(this.#record) : undefined,
      terminated: this.#terminated === run.id,
      eviction: this.#eviction,
      probeFailure: this.#probeFailure?.runId === run.id ? this.#probeFailure.message : undefined,
    };
  }

  async #perform(effect: Effect): Promise<void> {
    const deps = this.#deps;
    switch (effect.kind) {
      case "start": {
        // The next step handles the problem, if there is one.
        using attempt = this.#start.begin();
        this.#problem = await deps.startRun(this.#record, effect.run, attempt.signal);
        return;
      }
      case "stopFile":
        return await deps.runStopFile(this.#record, effect.run, this.#closing.signal);
      case "terminate":
        if (effect.run.id === this.#record.run?.id) this.#terminated = effect.run.id;
        return await deps.terminate(this.#record, effect.run);
      case "kill":
        return await deps.kill(this.#record, effect.run);
      case "cancel":
        return await deps.cancel(effect.run);
      case "cleanUp":
        return await this.#cleanUps.perform(effect.run);
      case "limits":
        return await this.#ensureCaps();
      case "forget":
        return await this.#forget();
    }
  }

  async #ensureCaps(): Promise<void> {
    const caps = await this.#deps.ensureCaps(this.#record);
    if (isSameState(caps, this.#caps)) return;
    this.#caps = caps;
    this.#deps.onChange(this.#record);
  }

  async #forget(): Promise<void> {
    // What is left of a run would bring the app back with the next agent.
    if (!this.#cleanUps.done) throw new Error("it cannot be forgotten while a run of it is not cleared away");
    await this.#deps.forget(this.#record);
    const heir = this.#next ?? this.#successor;
    this.#next = this.#successor = this.#caps = undefined;
    if (heir !== undefined && heir !== "withdrawn") {
      await this.#save(newRecord(heir));
      this.poke();
      return;
    }
    // This is a step of the loop: to wait for its end would take for ever.
    void this.#loop.close();
    this.#deps.onForgotten(this.#record);
  }

  async #save(record: AppRecord): Promise<void> {
    await this.#deps.save(record);
    this.#record = record;
  }

  get #name(): string {
    return keyOf(this.#record.app);
  }
}

function isSameState(one: CapsState, other: CapsState | undefined): boolean {
  if (one.enforced || !other || other.enforced) return one.enforced === other?.enforced;
  return one.reason === other.reason && one.message === other.message;
}

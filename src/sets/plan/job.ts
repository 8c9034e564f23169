/**
 * What a job does now: a set whose apps run to completion. It follows the Jobs of batch/v1 in names and meaning.
 *
 * Guarantees, also if the controller is killed between any two writes, and if agents are silent
 * - An app that has completed never runs again. One that failed runs again only within the limits, or after a retry.
 * - At most `parallelism` apps are active; those on lost nodes and those that are stopping are. If it is lowered, none is stopped.
 * - An end is final: only a retry continues a job that has failed.
 */
import { annotations, setLabels } from "../../api/names.ts";
import { acceptsNew } from "../../api/placement/placement.ts";
import { retryOf, type RunNote } from "../../api/run-note.ts";
import type { Action, App, AppSet, Plan, Revision, World } from "../types.ts";
import { type Completions, findCompletions } from "./job-completions.ts";
import { findRuns, type JobRun } from "./job-runs.ts";
import { describeJob, endOf, type JobEnd } from "./job-status.ts";
import { isPinned } from "./names.ts";
import { createRenderer, type Renderer } from "./render.ts";
import { pruneRevisions, type Revisions } from "./revisions.ts";
import { maxChanges, whyGone } from "./slots.ts";

export function planJob(world: World, own: readonly App[], revisions: Revisions, update: Revision): Plan {
  const { set, now } = world;
  const { job = {}, revisionHistoryLimit = 10 } = set.spec;
  const runs = findRuns(world, own);
  const found = findCompletions(world, runs, update);
  const isNewTry = (set.status?.retry ?? "") !== retryOf(set);
  const known = isNewTry ? undefined : endOf(set.status);
  const startTime = known ? startOf(set) : job.suspend ? undefined : isNewTry ? now : startOf(set) ?? now;
  const end = known ?? findEnd(set, runs, found, { startTime, now });
  const active = runs.filter(({ state }) => state === "active").length;
  const mustStop = end !== undefined || job.suspend === true;
  const renderer = createRenderer(set, { pinned: isPinned(set.spec), now });
  const scene: Scene = { world, update, revisions, renderer, found, mustStop };

  let room = mustStop ? 0 : Math.max(0, (job.parallelism ?? 1) - active);
  const revision = update.metadata.name;
  const changes: Action[] = [];
  for (const run of runs) {
    const { app } = run;
    if (app.metadata.deletionTimestamp) continue;
    // After the end, what has failed stays for whoever wants to know why.
    if (isStranded(run, set) && (!end || run.state === "active")) {
      changes.push({ kind: "delete", app, why: "its node is gone" });
      continue;
    }
    const isStart = room > 0 && mayStart(run, scene);
    if (isStart) room--;
    const patch = isStart ? startAgain(run, scene) : changeOf(run, scene);
    if (patch) changes.push({ kind: "run", app, patch });
  }
  const creations = found.missing.slice(0, room).map(({ name, node }): Action => {
    const app = renderer.create(name, update, node);
    const { annotations } = noteOf(set, { failures: 0, restarts: 0 }).metadata;
    return { kind: "create", app: { ...app, annotations: { ...app.annotations, ...annotations } }, revision };
  });
  const isQuiet = changes.length + creations.length === 0;
  const used = new Set(own.map(({ metadata }) => metadata.labels?.[setLabels.revision] ?? ""));
  const unneeded = isQuiet ? pruneRevisions(world.revisions, used, [revision], revisionHistoryLimit) : [];
  const expiresAt = end && isQuiet && active === 0
    ? end.at + (job.ttlSecondsAfterFinished ?? Infinity) * 1000
    : Infinity;
  const dates = [
    expiresAt,
    ...(mustStop ? [] : [
      deadlineOf(set, startTime),
      ...runs.filter(({ state }) => state === "failed").map(({ retryAt }) => retryAt),
    ]),
  ];
  const checkAt = dates.reduce((first, at) => at > now ? Math.min(first, at) : first, Infinity);
  const seen = { set, update, runs, found, active, startTime, end, collisionCount: revisions.collisionCount };
  return {
    actions: [
      ...revisions.actions,
      ...changes.slice(0, maxChanges),
      ...creations,
      ...unneeded.slice(0, maxChanges),
      ...(expiresAt <= now ? [{ kind: "deleteSet" } as const] : []),
    ],
    ...describeJob(seen, now),
    ...(checkAt < Infinity ? { checkAt } : {}),
  };
}

interface Scene {
  world: World;
  update: Revision;
  revisions: Revisions;
  renderer: Renderer;
  found: Completions;
  /** The job has ended or is suspended. */
  mustStop: boolean;
}

/** When the job started, was resumed, or was retried. */
function startOf({ status }: AppSet): number | undefined {
  return Date.parse(status?.startTime ?? "") || undefined;
}

function deadlineOf({ spec }: AppSet, startTime = Infinity): number {
  return startTime + (spec.job?.activeDeadlineSeconds ?? Infinity) * 1000;
}

/** Returns how the job ends, if it does now. What has completed counts, however late or after how many failures. */
function findEnd(
  set: AppSet,
  runs: readonly JobRun[],
  { completed, desired, isSlot }: Completions,
  { startTime, now }: { startTime?: number; now: number },
): JobEnd | undefined {
  const {
    completions,
    backoffLimitPerIndex,
    backoffLimit = backoffLimitPerIndex === undefined ? 6 : Infinity,
  } = set.spec.job ?? {};
  // Nodes that have no label yet are no reason to say that all work is done.
  const isWanted = completions !== undefined || desired > 0;
  if (isWanted && completed.size >= desired) {
    return {
      type: "Complete",
      reason: "CompletionsReached",
      at: now,
      message: `all ${desired} apps have completed`,
    };
  }
  const failures = runs.reduce((sum, run) => sum + run.failures, 0);
  if (failures > backoffLimit) {
    const message = `${
      failures === 1 ? "1 run has" : `${failures} runs have`
    } failed (backoffLimit is ${backoffLimit})`;
    return { type: "Failed", reason: "BackoffLimitExceeded", at: now, message };
  }
  if (deadlineOf(set, startTime) <= now) {
    const message = `it took longer than ${set.spec.job?.activeDeadlineSeconds} s (activeDeadlineSeconds)`;
    return { type: "Failed", reason: "DeadlineExceeded", at: now, message };
  }
  const lost = runs.filter((run) =>
    run.state === "failed" && run.isExhausted && isSlot(run.app.metadata.name)
  );
  if (lost.length > 0 && completed.size + lost.length >= desired) {
    const message =
      `${lost.length} of ${desired} apps failed (backoffLimitPerIndex is ${backoffLimitPerIndex})`;
    return { type: "Failed", reason: "FailedIndexes", at: now, message };
  }
  return undefined;
}

/** Reports whether an app that has not completed is bound to a node that does not exist. */
function isStranded({ node, state }: JobRun, { spec }: AppSet): boolean {
  return isPinned(spec) && node === undefined && state !== "completed";
}

/** Returns the change of an app that does not start now; undefined if there is none. */
function changeOf(run: JobRun, scene: Scene): object | undefined {
  const { app, state, isUnnoted, isRetried } = run;
  const { world: { set, now }, mustStop } = scene;
  if (isUnnoted) return noteEnd(run, set, now);
  if (state !== "active") return undefined;
  // It is stopped, not deleted: it may complete before its agent hears of it, and that counts.
  if ((mustStop || mustLeave(run, scene)) && !app.spec.suspend) return { spec: { suspend: true } };
  return isRetried && !mustStop ? noteOf(set, { failures: 0, restarts: restartsOf(app) }) : undefined;
}

function mustLeave({ app, node }: JobRun, { world: { set }, revisions, update }: Scene): boolean {
  const revision = revisions.byHash.get(app.metadata.labels?.[setLabels.revision] ?? "") ?? update;
  return isPinned(set.spec) && node !== undefined && whyGone(app, node, revision) !== undefined;
}

function mayStart(run: JobRun, { world: { set, now }, update, found }: Scene): boolean {
  const { app, node, state, isUnnoted, isExhausted, retryAt } = run;
  const { name } = app.metadata;
  if (isUnnoted || !found.isSlot(name) || found.completed.has(name)) return false;
  if (state !== "idle" && (state !== "failed" || isExhausted || retryAt > now)) return false;
  return !isPinned(set.spec) ||
    node?.agent === "fresh" && acceptsNew(update.data!.spec, node.properties);
}

/** Suspends an app that has ended and notes how: from then on no agent starts it. */
function noteEnd({ app, state, failures, note }: JobRun, set: AppSet, now: number): object {
  const time = new Date(now).toISOString();
  const end = state === "completed" ? { completedAt: time } : { failedAt: note.failedAt ?? time };
  return { ...noteOf(set, { ...end, failures, restarts: restartsOf(app) }), spec: { suspend: true } };
}

function noteOf(set: AppSet, note: Omit<RunNote, "retry">) {
  const text = JSON.stringify({ ...note, retry: retryOf(set) } satisfies RunNote);
  return { metadata: { annotations: { [annotations.run]: text } } };
}

function restartsOf({ status }: App): number {
  return status?.restarts ?? 0;
}

/** Starts an app that was stopped or has failed, with the newest revision. A numbered one that has failed is placed again. */
function startAgain(
  { app, node, failures, note }: JobRun,
  { world: { set, now }, ...scene }: Scene,
): object {
  const { update, revisions, renderer } = scene;
  const old = revisions.byHash.get(app.metadata.labels?.[setLabels.revision] ?? "");
  const { metadata, spec } = renderer.update(app, update, node, { old }) as {
    metadata: { labels: object; annotations: object };
    spec?: object;
  };
  const pinned = isPinned(set.spec);
  const moves = !pinned && note.failedAt !== undefined;
  const noted = noteOf(set, { failures, restarts: moves ? 0 : restartsOf(app) });
  return {
    metadata: {
      ...metadata,
      annotations: {
        ...metadata.annotations,
        [annotations.restartedAt]: new Date(now).toISOString(),
        ...noted.metadata.annotations,
      },
    },
    spec: {
      ...spec,
      suspend: false,
      ...(pinned ? { nodeName: node!.name } : moves ? { nodeName: null } : {}),
    },
  };
}

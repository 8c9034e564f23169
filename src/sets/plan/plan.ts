/**
 * Decides what a set needs: from the objects in the cluster to actions and a status. Pure.
 *
 * `members.ts` finds the apps of the set, `revisions.ts` the revision of its template, `slots.ts` their slots, `health.ts` how they
 * do, `rollout.ts` which of them change now within the budget, `render.ts` what is written into them, `status.ts` what users see. Of a
 * job, `job.ts` decides which apps run, `job-runs.ts` how they do, `job-status.ts` what users see.
 *
 * Nothing is remembered between plans but the status of the set: the stable revision, and the rollout that was stopped; of a job, its
 * start, its end, and which apps have completed. It must be written before the actions of the same plan.
 */
import { choosesNode } from "../../api/placement/placement.ts";
import { setAnnotations, setLabels } from "../../api/names.ts";
import type { Action, App, AppSet, Node, Plan, Revision, World } from "../types.ts";
import { type Health, healthOf } from "./health.ts";
import { planJob } from "./job.ts";
import { findMembers } from "./members.ts";
import { appName, hashOf } from "./names.ts";
import { createRenderer, type Renderer } from "./render.ts";
import { findRevisions, pruneRevisions, type Revisions } from "./revisions.ts";
import { type Candidate, planRollout } from "./rollout.ts";
import { createMoves } from "./moves.ts";
import { findSlots, maxChanges, type Slot } from "./slots.ts";
import { describe, invalidStatus } from "./status.ts";

export { healthOf, updatedAt } from "./health.ts";
export { isOwn } from "./members.ts";
export { ownerOf } from "./render.ts";

export function plan(world: World): Plan {
  const { set, now, problem } = world;
  // The garbage collector deletes the apps, or lets them go.
  if (set.metadata.deletionTimestamp) return { actions: [], status: set.status ?? {}, events: [] };
  if (problem !== undefined) return { actions: [], ...invalidStatus(set, problem, now) };
  const members = findMembers(world);
  const revisions = findRevisions(world);
  const { update } = revisions;
  // Everything else is decided when these are in place.
  if (members.actions.length > 0 || !update) {
    const { collisionCount } = revisions;
    const status = { ...set.status, ...(collisionCount > 0 ? { collisionCount } : {}) };
    return { actions: [...members.actions.slice(0, maxChanges), ...revisions.actions], status, events: [] };
  }
  return (set.spec.job ? planJob : planApps)(world, members.own, revisions, update);
}

function planApps(world: World, own: readonly App[], revisions: Revisions, update: Revision): Plan {
  const { set, nodes, now } = world;
  const { spec } = set;
  const pinned = spec.replicas === undefined;
  const renderer = createRenderer(set, { pinned, now });
  const revisionOf = (app: App) => revisions.byHash.get(app.metadata.labels?.[setLabels.revision] ?? "");
  let known: Map<string, Node> | undefined;
  /** The nodes by the names of their apps, for apps that something has unbound. */
  const byApp = () => known ??= new Map(pinned ? namedNodes(world) : []);
  // A set may have thousands of apps, and each is asked for these many times.
  const judge = (app: App): Judged => {
    const node = nodes.get(app.spec.nodeName ?? "") ?? byApp().get(app.metadata.name);
    return { health: healthOf(app, spec, now), isUpdated: renderer.isCurrent(app, update, node), node };
  };
  const judged = new Map(own.map((app) => [app, judge(app)]));
  const health = (app: App) => judged.get(app)!.health;
  const isUpdated = (app: App) => judged.get(app)!.isUpdated;
  const alive = own.filter((app) =>
    !app.metadata.deletionTimestamp && judged.get(app)!.node?.agent !== "lost" &&
    app.status?.phase !== "Unknown"
  );

  const stable = findStable(world, alive, { update, revisionOf, health, isUpdated }) ??
    revisions.byName.get(set.status?.stableRevision ?? "");
  const stop = findStop(world, alive, { update, stable, health, isUpdated });
  const isRolling = spec.update?.type !== "OnDelete";
  const back = stop !== "" && isRolling && spec.update?.onFailure === "Rollback" && stable !== undefined &&
    stable !== update;
  const target = back ? stable : update;
  const base = isRolling ? stable ?? update : update;

  const found = findSlots(world, own, { base, target, revisionOf, healthOf: health });
  const rollout = planRollout({
    set,
    slots: found.slots,
    missing: found.missing,
    target,
    stable: stable?.metadata.name,
    back,
    stopped: stop !== "",
    revisionNameOf: ({ app }) => revisionOf(app)?.metadata.name,
    isCurrent: ({ app, node }) => target === update ? isUpdated(app) : renderer.isCurrent(app, target, node),
    chooses: ({ node }) =>
      !pinned || node !== undefined && choosesNode(target.data!.spec, node.name, node.properties),
    budgets: world.budgets,
    now,
  });
  const fitting = found.missing.filter(({ fitsBase }) => fitsBase).slice(0, maxChanges);
  const creations = fitting.map(({ name, node }): Action => ({
    kind: "create",
    app: renderer.create(name, base, node),
    revision: base.metadata.name,
  }));
  const moves = pinned || rollout.chosen.length === 0 ? () => false : createMoves(world, found.slots, target);
  const changes = rollout.chosen.slice(0, maxChanges)
    .map((candidate) => actionOf(candidate, target, renderer, { revisionOf, moves }));
  const deletions = found.actions.slice(0, maxChanges);
  const isQuiet = creations.length + changes.length + found.actions.length === 0;
  const used = new Set(own.map((app) => app.metadata.labels?.[setLabels.revision] ?? ""));
  const kept = [update.metadata.name, stable?.metadata.name];
  const unneeded = isQuiet
    ? pruneRevisions(world.revisions, used, kept, spec.revisionHistoryLimit ?? 10)
    : [];
  const checkAt = found.slots.reduce(
    (first, { health }) => Math.min(first, health.until ?? Infinity),
    rollout.until ?? Infinity,
  );
  const seen = {
    set,
    found,
    rollout,
    update,
    stable,
    stop,
    back,
    current: currentRevision(found.slots, update, isUpdated, revisionOf),
    isUpdated,
    collisionCount: revisions.collisionCount,
  };
  return {
    actions: [
      ...revisions.actions,
      ...deletions,
      ...creations,
      ...changes,
      ...unneeded.slice(0, maxChanges),
    ],
    ...describe(seen, now),
    ...(checkAt < Infinity ? { checkAt } : {}),
  };
}

function namedNodes({ set, nodes }: World): [app: string, node: Node][] {
  return [...nodes.values()].map((node) => [appName(set.metadata.name, node.name), node]);
}

interface Judged {
  health: Health;
  /** It has the newest revision, as its node wants it. */
  isUpdated: boolean;
  node?: Node;
}

interface Judges {
  update: Revision;
  revisionOf(app: App): Revision | undefined;
  health(app: App): Health;
  isUpdated(app: App): boolean;
}

/**
 * Returns the revision that all apps have, if they are all available; undefined if there is none. Apps of lost nodes may have another.
 * The failures that `maxFailed` tolerates do not count: otherwise the rollout would never end, and unrelated ones would stop it later.
 */
function findStable({ set }: World, alive: readonly App[], judges: Judges): Revision | undefined {
  const { update, revisionOf, health, isUpdated } = judges;
  const [first] = alive;
  if (!first) return set.spec.replicas === 0 ? update : undefined;
  const revision = revisionOf(first);
  const isStable = alive.every((app) =>
    revisionOf(app) === revision && (revision !== update || isUpdated(app)) &&
    (health(app).available || health(app).failed !== undefined)
  );
  const failed = alive.filter((app) => health(app).failed !== undefined).length;
  return isStable && failed < (set.spec.update?.maxFailed ?? 1) &&
      !(revision === update && isHeld(set, update))
    ? revision
    : undefined;
}

/** Reports whether some apps must not get the revision yet, although there may be none at the moment: their nodes are lost, for one. */
function isHeld({ spec, status, metadata }: AppSet, { metadata: { name } }: Revision): boolean {
  const { canary, partition = 0 } = spec.update ?? {};
  const isUnpromoted = canary && !canary.autoPromote &&
    metadata.annotations?.[setAnnotations.promote] !== name;
  const { stableRevision = "" } = status ?? {};
  return stableRevision !== "" && stableRevision !== name && (partition > 0 || Boolean(isUnpromoted));
}

/** Returns the hash of the rollout that is stopped because apps failed; empty if none is. A changed template or override is another one. */
function findStop(
  { set }: World,
  alive: readonly App[],
  { update, stable, health, isUpdated }: Omit<Judges, "revisionOf"> & { stable?: Revision },
): string {
  const { maxFailed = 1, type } = set.spec.update ?? {};
  const isUnderWay = stable !== update || !alive.every(isUpdated);
  if (!isUnderWay || type === "OnDelete") return "";
  const hash = hashOf([update.data, set.spec.overrides ?? []]);
  if (set.status?.stoppedRollout === hash) return hash;
  const failed = alive.filter((app) => isUpdated(app) && health(app).failed !== undefined);
  return failed.length >= maxFailed ? hash : "";
}

function actionOf(
  candidate: Candidate,
  target: Revision,
  renderer: Renderer,
  { revisionOf, moves }: { revisionOf(app: App): Revision | undefined; moves(app: App): boolean },
): Action {
  const revision = target.metadata.name;
  switch (candidate.kind) {
    case "add": {
      const { name, node } = candidate.missing;
      return { kind: "create", app: renderer.create(name, target, node), revision };
    }
    case "remove":
      return { kind: "delete", app: candidate.slot.app, why: "the new revision does not choose its node" };
    case "update": {
      const { app, node } = candidate.slot;
      const isMoved = renderer.restarts(app, target, node) && moves(app);
      const patch = renderer.update(app, target, node, { old: revisionOf(app), isMoved });
      return { kind: "update", app, patch, revision };
    }
  }
}

/** Returns the revision that most apps have of those that are not updated. */
function currentRevision(
  slots: readonly Slot[],
  update: Revision,
  isUpdated: (app: App) => boolean,
  revisionOf: (app: App) => Revision | undefined,
): Revision {
  const counts = new Map<Revision, number>();
  for (const { app } of slots) {
    const revision = revisionOf(app);
    if (revision && !isUpdated(app)) counts.set(revision, (counts.get(revision) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? update;
}

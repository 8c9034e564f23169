/**
 * Brings one set to what its spec says: look at the cluster, plan, write the status, act.
 *
 * The status is written first: it holds what the next plan must know even if this process is killed between two writes. Another
 * controller that works at the same time is noticed by the version of the set.
 */
import { covers, disruptionsLeft, noticeMs } from "../api/placement/placement.ts";
import { joinMessages } from "../api/field-error.ts";
import type { Reason } from "../api/reasons.ts";
import { apiVersion, appKey, setKind } from "../api/names.ts";
import type { NCAppSetStatus } from "../api/types.ts";
import { validateNCAppSet } from "../api/validate/validate.ts";
import { type KubeError, wasRejected } from "../kube/kube-error.ts";
import { memoize } from "../lib/memoize.ts";
import type { EventRecorder } from "../report/events/events.ts";
import { isDeepStrictEqual } from "node:util";
import { healthOf, plan, updatedAt } from "./plan/plan.ts";
import { freeIn, keyOf, type Store } from "./store.ts";
import type { Action, AppSet, Node, SetEvent, World } from "./types.ts";
import type { SetWriter } from "./write.ts";

export interface ReconcileParts {
  store: Store;
  nodes: ReadonlyMap<string, Node>;
  writer: SetWriter;
  recorder: EventRecorder;
  /** When the status of each set was last written, by its uid. */
  statusAt: Map<string, number>;
  /** The last of the sets that take turns, by namespace. */
  turns: Map<string, Promise<unknown>>;
  /** Asked right before each write. */
  mayWrite(): boolean;
  now(): number;
}

export interface Reconciled {
  /** Plan again: something was written, or a write found another version than the plan. */
  again: boolean;
  checkAt?: number;
}

/** Writes in flight at the same time. */
const maxInFlight = 8;
/** How old the numbers in a status may be: in a rollout with a small budget, they change with every step of every app. */
const numbersMs = 1000;

const problemOf = memoize((set: AppSet) => joinMessages(validateNCAppSet(set)));

/** Sets whose namespace has PodDisruptionBudgets take turns: each plan must see what the one before has spent of them. */
export async function reconcile(set: AppSet, parts: ReconcileParts): Promise<Reconciled> {
  const { store, turns, writer } = parts;
  const { namespace } = set.metadata;
  const isHere = (object: { namespace?: string }) => object.namespace === namespace;
  if (![...store.budgets.values()].some(isHere)) return await reconcileNow(set, parts);
  const work = async () => {
    const newest = store.sets.get(keyOf(set));
    if (!newest) return { again: false };
    // What a lost answer was about may have spent some, too.
    for (const other of store.sets.values()) if (isHere(other.metadata)) await writer.readUnsure(other);
    return await reconcileNow(newest, parts);
  };
  const turn = (turns.get(namespace) ?? Promise.resolve()).then(work, work);
  turns.set(namespace, turn);
  return await turn.finally(() => {
    if (turns.get(namespace) === turn) turns.delete(namespace);
  });
}

async function reconcileNow(set: AppSet, parts: ReconcileParts): Promise<Reconciled> {
  const { writer, recorder, mayWrite, now } = parts;
  await writer.readUnsure(set);
  const { actions, status, events, checkAt } = plan(worldOf(set, parts, now()));
  if (!mayWrite()) return { again: false };
  const { uid } = set.metadata;
  const age = now() - (parts.statusAt.get(uid) ?? 0);
  const isNew = age >= 0 && age < numbersMs;
  if (actions.length === 0 && isNew && onlyNumbersDiffer(set.status, status)) {
    return { again: false, checkAt: Math.min(now() + numbersMs - age, checkAt ?? Infinity) };
  }
  const written = await writer.writeStatus(set, status);
  if (written === "outdated") return { again: true };
  if (written === "done") parts.statusAt.set(uid, now());
  for (const event of events) recorder.record(target(set), event);
  const outcome = await performAll(set, actions, parts);
  for (const event of summarize(outcome.done)) recorder.record(target(set), event);
  if (outcome.error) {
    const message = `cannot change what the set needs: ${outcome.error.message}`;
    recorder.record(target(set), { type: "Warning", reason: "FailedChange", message });
    // As long as something succeeds, the rest need not wait for a backoff.
    if (outcome.done.length === 0) throw outcome.error;
  }
  return { again: actions.length > 0, checkAt };
}

function worldOf(set: AppSet, { store, nodes }: ReconcileParts, now: number): World {
  const { namespace, uid } = set.metadata;
  return {
    set,
    problem: problemOf(set) || undefined,
    apps: [...store.apps.group(uid), ...store.apps.group(freeIn(namespace))],
    appNamed: (name) => store.apps.get(appKey(namespace, name)),
    nodes,
    revisions: [...store.revisions.group(uid)],
    revisionNamed: (name) => store.revisions.get(appKey(namespace, name)),
    budgets: budgetsIn(namespace, store, now),
    now,
  };
}

/** What each budget of the namespace still allows, by how the apps of all its sets are now. */
function budgetsIn(namespace: string, store: Store, now: number): World["budgets"] {
  const budgets = [...store.budgets.values()].filter((budget) => budget.namespace === namespace);
  if (budgets.length === 0) return [];
  const sets = [...store.sets.values()].filter(({ metadata }) => metadata.namespace === namespace);
  const apps = sets.flatMap(({ metadata, spec }) =>
    [...store.apps.group(metadata.uid)].map((app) => ({
      labels: app.metadata.labels,
      ready: healthOf(app, spec, now).ready,
      changed: Math.abs(now - updatedAt(app)) < noticeMs,
    }))
  );
  return budgets.map((budget) => {
    const covered = apps.filter(({ labels }) => covers(budget, labels));
    return { ...budget, left: disruptionsLeft(budget, covered) };
  });
}

/** Reports whether a status differs from the one before, but in nothing that a plan or a user waits for. */
function onlyNumbersDiffer(before: NCAppSetStatus = {}, status: NCAppSetStatus): boolean {
  const rest = (of: NCAppSetStatus) => [
    ...[of.observedGeneration, of.desired, of.selector, of.collisionCount],
    ...[of.currentRevision, of.updateRevision, of.stableRevision, of.stoppedRollout],
    ...[of.startTime, of.retry],
    ...(of.conditions ?? []).flatMap(({ type, status, reason }) => [type, status, reason]),
  ];
  return !isDeepStrictEqual(before, status) && isDeepStrictEqual(rest(before), rest(status));
}

interface Outcome {
  done: Action[];
  error?: KubeError;
}

/**
 * Performs the actions, several at a time; revisions come first, since apps refer to them. It ends when the server fails. A rejected
 * action does not hold up the others, but after some of a kind the rest of that kind waits: an exhausted quota would reject them all.
 */
async function performAll(set: AppSet, actions: readonly Action[], parts: ReconcileParts): Promise<Outcome> {
  const outcome: Outcome = { done: [] };
  const rejected = new Map<Action["kind"], number>();
  let hasFailed = false;
  const perform = async (action: Action) => {
    const { kind } = action;
    if (hasFailed || (rejected.get(kind) ?? 0) >= maxInFlight || !parts.mayWrite()) return;
    try {
      if (await parts.writer.perform(set, action) === "done") outcome.done.push(action);
    } catch (error) {
      outcome.error ??= error as KubeError;
      hasFailed ||= !wasRejected(error);
      rejected.set(kind, (rejected.get(kind) ?? 0) + 1);
    }
  };
  const isRevision = ({ kind }: Action) => kind.endsWith("Revision");
  for (const action of actions.filter(isRevision)) await perform(action);
  if (outcome.error) return outcome;
  const waiting = actions.filter((action) => !isRevision(action));
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await perform(next);
  };
  await Promise.all(Array.from({ length: maxInFlight }, work));
  return outcome;
}

/** One event for each kind of change: a set may have thousands of apps. */
function summarize(done: readonly Action[]): SetEvent[] {
  const verbs: Partial<Record<Action["kind"], [reason: Reason, verb: string]>> = {
    create: ["Created", "created"],
    update: ["Updated", "updated"],
    delete: ["Deleted", "deleted"],
    adopt: ["Adopted", "adopted"],
    orphan: ["Orphaned", "let go"],
  };
  return Object.entries(verbs).flatMap(([kind, [reason, verb]]): SetEvent[] => {
    const these = done.filter((action) => action.kind === kind);
    if (these.length === 0) return [];
    const names = these.map((action) =>
      action.kind === "create" ? action.app.name : "app" in action ? action.app.metadata.name : ""
    );
    const shown = names.length > 5
      ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more`
      : names.join(", ");
    const [first] = these;
    const why = first?.kind === "delete"
      ? `: ${first.why}`
      : first && "revision" in first && typeof first.revision === "string"
      ? ` with revision ${first.revision}`
      : "";
    return [{ type: "Normal", reason, message: `${verb} ${shown}${why}` }];
  });
}

function target({ metadata: { namespace, name, uid } }: AppSet) {
  return { namespace, name, uid, kind: setKind, apiVersion };
}

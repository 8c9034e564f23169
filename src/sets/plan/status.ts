/** The status of a set, and the events about what changed in it. */
import type { Reason } from "../../api/reasons.ts";
import { withTransitionTime } from "../../api/conditions.ts";
import { appKey } from "../../api/names.ts";
import type { LabelSelector } from "../../api/label-selector.ts";
import type { Condition, NCAppSetStatus } from "../../api/types.ts";
import { isoSeconds } from "../../lib/time.ts";
import type { App, AppSet, Plan, Revision, SetEvent } from "../types.ts";
import type { Rollout } from "./rollout.ts";
import type { Slot, Slots } from "./slots.ts";

export interface Seen {
  set: AppSet;
  found: Slots;
  rollout: Rollout;
  update: Revision;
  stable?: Revision;
  /** The hash of the rollout that is stopped, or empty. */
  stop: string;
  /** Apps return to the stable revision. */
  back: boolean;
  current: Revision;
  isUpdated(app: App): boolean;
  collisionCount: number;
}

type Counts = ReturnType<typeof countApps>;
type Described = Pick<Plan, "status" | "events">;

export function describe(seen: Seen, now: number): Described {
  const { set, update, stable, stop, current, collisionCount } = seen;
  const before = set.status ?? {};
  const counts = countApps(seen);
  const judged = [progressing(seen, counts), available(seen, counts), stalled(seen)] as const;
  const conditions = [...judged, ...goalOf(seen, judged[0], counts)];
  const status: NCAppSetStatus = {
    observedGeneration: set.metadata.generation ?? 0,
    ...counts,
    // As Deployments have them, for programs that know those.
    replicas: counts.current,
    readyReplicas: counts.ready,
    updatedReplicas: counts.updated,
    availableReplicas: counts.available,
    currentRevision: current.metadata.name,
    updateRevision: update.metadata.name,
    stableRevision: stable?.metadata.name ?? "",
    stoppedRollout: stop,
    selector: selectorText(set.spec.selector),
    ...(collisionCount > 0 ? { collisionCount } : {}),
    conditions: conditions.map((condition) => dated(condition, set, now)),
  };
  return { status, events: eventsOf(seen, before, status) };
}

/** The status of a set whose spec is invalid, which only servers without CEL accept. */
export function invalidStatus(set: AppSet, problem: string, now: number): Described {
  const before = set.status ?? {};
  const others = (before.conditions ?? []).filter(({ type }) => type === "Available");
  const conditions = [
    { type: "Progressing", status: "False", reason: "InvalidSpec", message: problem } as const,
    { type: "Stalled", status: "True", reason: "InvalidSpec", message: problem } as const,
  ].map((condition) => dated(condition, set, now));
  const status = {
    ...before,
    observedGeneration: set.metadata.generation ?? 0,
    conditions: [conditions[0]!, ...others, conditions[1]!],
  };
  const isNew = messageOf(before, "Stalled") !== problem;
  return { status, events: isNew ? [{ type: "Warning", reason: "InvalidSpec", message: problem }] : [] };
}

/** Adds the generation that the condition describes, and the time of its last change. */
export function dated(
  condition: Condition,
  { metadata: { generation = 0 }, status }: AppSet,
  now: number,
): Condition {
  const observed = { ...condition, observedGeneration: generation };
  return withTransitionTime(observed, status?.conditions, isoSeconds(now));
}

/**
 * The conditions by which Flux, Helm and Argo CD judge the set (kstatus); `Stalled` is the third of them. An update that waits for
 * someone is under way, as that of a paused Deployment; one that waits for deletions or stops at its partition is done, as that of a
 * StatefulSet.
 */
function goalOf({ stop }: Seen, { reason, message }: Condition, { available, desired }: Counts): Condition[] {
  const isReached = !stop && available >= desired &&
    ["RolloutComplete", "PartitionReached", "WaitingForDeletion"].includes(reason ?? "");
  const ready: Condition = { type: "Ready", status: isReached ? "True" : "False", reason, message };
  const isUnderWay = !isReached && !stop;
  return isUnderWay ? [ready, { type: "Reconciling", status: "True", reason, message }] : [ready];
}

function countApps({ found: { slots, desired }, isUpdated }: Seen) {
  const count = (is: (slot: Slot) => boolean) =>
    slots.filter((slot) => !slot.deleting && !slot.lost && is(slot)).length;
  const available = count(({ health }) => health.available);
  return {
    desired,
    current: slots.filter(({ deleting }) => !deleting).length,
    updated: count(({ app }) => isUpdated(app)),
    ready: count(({ health }) => health.ready),
    available,
    unavailable: Math.max(0, desired - available),
    failed: count(({ health }) => health.failed !== undefined),
  };
}

function progressing({ set, found, rollout, stop, back, update }: Seen, counts: Counts): Condition {
  const condition = (status: "True" | "False", reason: Reason, message: string): Condition => ({
    type: "Progressing",
    status,
    reason,
    message,
  });
  const { updated, desired, available } = counts;
  const progress = `${updated} of ${desired} apps have ${update.metadata.name}, ${available} are available`;
  const { name } = set.metadata;
  const isComplete = rollout.remaining === 0 && found.missing.length === 0 && available >= desired;
  if (stop && !back) return condition("False", "Stalled", `stopped: ${progress}`);
  if (back) {
    const message = rollout.remaining > 0 ? `${rollout.remaining} apps are going back` : "all apps are back";
    const paused = set.spec.paused && rollout.remaining > 0 ? "paused: " : "";
    return condition("False", "RolledBack", `${paused}${message} to the stable revision`);
  }
  if (found.collisions.length > 0) {
    return condition("False", "NameCollision", `other apps have the names ${someOf(found.collisions)}`);
  }
  if (isComplete) return condition("True", "RolloutComplete", progress);
  if (rollout.remaining > 0) {
    if (set.spec.paused) return condition("False", "Paused", `paused: ${progress}`);
    if (set.spec.update?.type === "OnDelete") {
      return condition("False", "WaitingForDeletion", `apps are updated when you delete them: ${progress}`);
    }
    if (rollout.waitsForPromotion) {
      const why = rollout.waitsForPromotion === "absent"
        ? "no app is a canary: no node has the labels of update.canary.nodeSelector"
        : "the canary is available";
      const how = `kubectl ncapp rollout promote ${name}`;
      return condition("False", "WaitingForPromotion", `${why}; to go on: ${how}; ${progress}`);
    }
    const partition = set.spec.update?.partition ?? 0;
    if (rollout.remaining <= partition) {
      return condition(
        "True",
        "PartitionReached",
        `${rollout.remaining} apps keep the old revision: ${progress}`,
      );
    }
  }
  const budgets = rollout.waitsForBudgets.join(", ");
  const wait = budgets ? `; waits for the PodDisruptionBudget ${budgets}` : "";
  return condition("True", "RolloutInProgress", progress + wait);
}

function available(
  { rollout: { maxUnavailable } }: Seen,
  { desired, available, unavailable }: Counts,
): Condition {
  const isEnough = unavailable <= maxUnavailable;
  return {
    type: "Available",
    status: isEnough ? "True" : "False",
    reason: isEnough ? "MinimumAvailable" : "TooFewAvailable",
    message: `${available} of ${desired} apps are available`,
  };
}

function stalled(seen: Seen): Condition {
  const { set, stop, back } = seen;
  if (!stop) return { type: "Stalled", status: "False", reason: "NotStalled", message: "" };
  // What failed is gone after a rollback: the message of the first time stays.
  const known = set.status?.stoppedRollout === stop ? messageOf(set.status, "Stalled") : undefined;
  const message = known ||
    `the rollout of ${seen.update.metadata.name} was stopped: ${describeFailed(seen, 1)}`;
  return { type: "Stalled", status: "True", reason: back ? "RolledBack" : "FailedApps", message };
}

function eventsOf(seen: Seen, before: NCAppSetStatus, { conditions = [] }: NCAppSetStatus): SetEvent[] {
  const { update, stop, back, found } = seen;
  const { name } = update.metadata;
  const events: SetEvent[] = [];
  if (before.updateRevision !== name) {
    events.push({ type: "Normal", reason: "RolloutStarted", message: `rolling out ${name}` });
  }
  if (stop && before.stoppedRollout !== stop) {
    const what = back ? "; updated apps return to the stable revision" : "";
    const message = `the rollout of ${name} was stopped: ${describeFailed(seen, 5)}${what}`;
    events.push({ type: "Warning", reason: "Stalled", message });
  }
  const { reason, message = "" } = conditions.find(({ type }) => type === "Progressing") ?? {};
  const old = before.conditions?.find(({ type }) => type === "Progressing");
  if (reason === "NameCollision" && old?.message !== message) {
    events.push({
      type: "Warning",
      reason,
      message: `${message}: rename or delete them (${found.collisions.length})`,
    });
  } else if ((reason === "RolloutComplete" || reason === "WaitingForPromotion") && old?.reason !== reason) {
    events.push({ type: "Normal", reason, message });
  }
  return events;
}

/** Describes what failed: the apps, their nodes, and the last `lines` lines that they logged. */
function describeFailed({ found: { slots }, set, isUpdated }: Seen, lines: number): string {
  const failed = slots.filter(({ app, health, lost }) =>
    health.failed !== undefined && !lost && isUpdated(app)
  );
  const { maxFailed = 1 } = set.spec.update ?? {};
  const shown = failed.slice(0, 3).map(({ app, health }) => {
    const { lastExit, message = "" } = app.status ?? {};
    const log = (lastExit?.message || message).trimEnd().split("\n").slice(-lines).join("\n").slice(-240);
    const where = app.spec.nodeName ? ` on node ${app.spec.nodeName}` : "";
    return `${appKey(app.metadata.namespace, app.metadata.name)}${where}: ${health.failed}${
      log && `: ${log}`
    }`;
  });
  const more = failed.length > shown.length ? `; and ${failed.length - shown.length} more` : "";
  const apps = failed.length === 1 ? "1 app has failed" : `${failed.length} apps have failed`;
  return `${apps} (maxFailed is ${maxFailed}): ${shown.join("; ")}${more}`;
}

/** Returns a selector as users type it after -l. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const words = { In: "in", NotIn: "notin" } as const;
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) =>
      operator === "Exists"
        ? key
        : operator === "DoesNotExist"
        ? `!${key}`
        : `${key} ${words[operator]} (${values.join(",")})`
    ),
  ].join(",");
}

function messageOf({ conditions }: NCAppSetStatus, type: string): string | undefined {
  return conditions?.find((condition) => condition.type === type)?.message;
}

export function someOf(names: readonly string[]): string {
  return names.length > 5 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
}

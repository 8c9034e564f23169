/**
 * Computes the status patch: only what differs from what the server has. Pure.
 *
 * Guarantees: applied to `seen`, the patch sets every field of the agent and keeps what other clients write: the scheduler's
 * fields, and conditions of other types. An agent that says nothing about `nodeName` does not hold the app, and keeps the field too.
 */
import { disruptionCondition, runConditions, withTransitionTime } from "../../api/conditions.ts";
import type { Condition, NCAppStatus } from "../../api/types.ts";
import { isObject, type MergePatch, mergePatch } from "../../lib/objects.ts";
import { isoSeconds } from "../../lib/time.ts";

/** Fields that are not compared: the scheduler writes the one, and `statusDelta` handles the other. */
const foreignFields: ReadonlySet<string> = new Set(["nominatedNodeName", "nodeName"]);
/** Conditions that the agent removes when they no longer apply. */
const ownConditions: ReadonlySet<string> = new Set([
  "LimitsEnforced",
  "PodShown",
  disruptionCondition,
  ...runConditions,
]);

/** Returns the patch from the status `seen` at the server to the `wanted` one; undefined if nothing differs. */
export function statusDelta(
  seen: NCAppStatus | undefined,
  wanted: NCAppStatus,
  now = Date.now(),
): MergePatch | undefined {
  const from = ownFields(seen ?? {});
  const to = ownFields({ ...wanted, conditions: mergeConditions(seen?.conditions, wanted.conditions, now) });
  const delta = mergePatch(from, to);
  const { nodeName } = wanted;
  // Empty is not the same as absent: it says that the agent has let the app go.
  return nodeName === undefined || nodeName === seen?.nodeName ? delta : { ...delta, nodeName };
}

/**
 * Returns what counts as stored after the server accepted `sent`. A server with an older CRD drops fields that it does not
 * know: they count as stored too, or they would be sent forever.
 */
export function storedStatus(answered: NCAppStatus | undefined, sent: NCAppStatus): NCAppStatus {
  return { ...answered, ...sent, conditions: mergeConditions(answered?.conditions, sent.conditions) };
}

/**
 * Merges the agent's conditions into the list: a merge patch replaces lists whole, so it must contain the entries of other
 * writers. A condition keeps its transition time while its status is unchanged, and `Scheduled` keeps the scheduler's
 * message: only its generation is the agent's, so that `kubectl wait` accepts it after an edit.
 */
export function mergeConditions(
  seen: Condition[] = [],
  wanted: Condition[] = [],
  now = Date.now(),
): Condition[] {
  const merged = wanted.map((condition) => {
    const before = seen.find(({ type }) => type === condition.type);
    if (condition.type === "Scheduled" && before?.status === condition.status) {
      const { observedGeneration = before.observedGeneration } = condition;
      return observedGeneration === undefined ? before : { ...before, observedGeneration };
    }
    // The clock of this node was wrong: a set that waits for an app to be ready for a while must not wait for that time.
    if (before?.status === condition.status && Date.parse(before.lastTransitionTime ?? "") > now) {
      return condition;
    }
    return withTransitionTime(condition, seen, changedAt(condition, before, now));
  });
  const isKept = ({ type }: Condition) =>
    !ownConditions.has(type) && !wanted.some((own) => own.type === type);
  const kept = seen.filter(isKept);
  // In the order of `seen`, so that order alone is never a difference.
  const place = ({ type }: Condition) => seen.findIndex((before) => before.type === type);
  const known = [...merged, ...kept].filter((condition) => place(condition) >= 0);
  const added = merged.filter((condition) => place(condition) < 0);
  return [...known.sort((a, b) => place(a) - place(b)), ...added];
}

/**
 * Returns when the condition changed. The scheduler may have recorded a later change, such as a lost node, that this agent never
 * saw: the change back is then new, even if nothing changed here.
 */
function changedAt(
  { lastTransitionTime: own }: Condition,
  before: Condition | undefined,
  now: number,
): string | undefined {
  const recorded = Date.parse(before?.lastTransitionTime ?? "");
  if (own === undefined || !(Date.parse(own) < recorded)) return own;
  return isoSeconds(Math.max(now, recorded));
}

function ownFields(status: NCAppStatus): MergePatch {
  const fields = Object.entries(withoutEmpty(status)).filter(([field]) => !foreignFields.has(field));
  return Object.fromEntries(fields);
}

/**
 * Drops empty texts and lists, which mean the same as absent ones. API server 1.20 built with Go 1.16 or later rejects an
 * empty text that became null.
 */
function withoutEmpty(object: object): MergePatch {
  const kept: MergePatch = {};
  for (const [field, value] of Object.entries(object)) {
    if (value === undefined || value === null || value === "") continue;
    if (Array.isArray(value)) {
      if (value.length > 0) {
        kept[field] = value.map((item) => isObject(item) ? withoutEmpty(item) : item);
      }
    } else kept[field] = isObject(value) ? withoutEmpty(value) : value;
  }
  return kept;
}

/**
 * What a status patch has to say: only what differs from what the server has. Pure.
 *
 * Guarantees: applied to `seen`, the delta makes every field of the agent as wanted and leaves alone what others write: the
 * scheduler's fields, and conditions of types that the agent does not have.
 */
import { withTransitionTime } from "../../api/conditions.ts";
import type { Condition, NCAppStatus } from "../../api/types.ts";
import { isPlainObject, type MergePatch, mergePatch } from "../../lib/merge-patch.ts";

/** Fields of the status that the scheduler writes. */
const foreignFields: ReadonlySet<string> = new Set(["nominatedNodeName"]);
/** Conditions that the agent takes away when it no longer has them. */
const ownConditions: ReadonlySet<string> = new Set(["Ready", "LimitsEnforced"]);

/** The patch that turns the status `seen` at the server into the `wanted` one; undefined where nothing differs. */
export function statusDelta(seen: NCAppStatus | undefined, wanted: NCAppStatus): MergePatch | undefined {
  const from = ownFields(seen ?? {});
  const to = ownFields({ ...wanted, conditions: mergeConditions(seen?.conditions, wanted.conditions) });
  return mergePatch(from, to);
}

/**
 * What counts as stored after the server has taken `sent`. A server with an older CRD drops fields that it does not know: they
 * count as stored too, or they would be sent forever.
 */
export function storedStatus(answered: NCAppStatus | undefined, sent: NCAppStatus): NCAppStatus {
  return { ...answered, ...sent, conditions: mergeConditions(answered?.conditions, sent.conditions) };
}

/**
 * Conditions are a list, and a merge patch replaces lists whole: the other writers' entries have to be in it. An entry
 * whose status is as before keeps the time of its last change, and `Scheduled` keeps the scheduler's words.
 */
export function mergeConditions(seen: Condition[] = [], wanted: Condition[] = []): Condition[] {
  const merged = wanted.map((condition) => {
    const before = seen.find(({ type }) => type === condition.type);
    if (condition.type === "Scheduled" && before?.status === condition.status) return before;
    return withTransitionTime(condition, seen, condition.lastTransitionTime);
  });
  const isKept = ({ type }: Condition) =>
    !ownConditions.has(type) && !wanted.some((own) => own.type === type);
  const kept = seen.filter(isKept);
  // In the order of before, so that order alone is never a difference.
  const place = ({ type }: Condition) => seen.findIndex((before) => before.type === type);
  const known = [...merged, ...kept].filter((condition) => place(condition) >= 0);
  const added = merged.filter((condition) => place(condition) < 0);
  return [...known.sort((one, other) => place(one) - place(other)), ...added];
}

function ownFields(status: NCAppStatus): MergePatch {
  const fields = Object.entries(withoutEmpty(status)).filter(([field]) => !foreignFields.has(field));
  return Object.fromEntries(fields);
}

/**
 * An empty text says no more than none, and an API server 1.20 built with Go 1.16 or later refuses it as null. An empty list
 * goes the same way, so that none and no entry are one.
 */
function withoutEmpty(object: object): MergePatch {
  const kept: MergePatch = {};
  for (const [field, value] of Object.entries(object)) {
    if (value === undefined || value === null || value === "") continue;
    if (Array.isArray(value)) {
      if (value.length > 0) {
        kept[field] = value.map((item) => isPlainObject(item) ? withoutEmpty(item) : item);
      }
    } else kept[field] = isPlainObject(value) ? withoutEmpty(value) : value;
  }
  return kept;
}

/**
 * Computes the status patch: only what differs from what the server has. Pure.
 *
 * Guarantees: applied to `seen`, the patch sets every field of the agent and keeps what other clients write: the scheduler's
 * fields, and conditions of other types.
 */
import { withTransitionTime } from "../../api/conditions.ts";
import type { Condition, NCAppStatus } from "../../api/types.ts";
import { isObject, type MergePatch, mergePatch } from "../../lib/objects.ts";

/** Fields of the status that the scheduler writes. */
const foreignFields: ReadonlySet<string> = new Set(["nominatedNodeName"]);
/** Conditions that the agent removes when they no longer apply. */
const ownConditions: ReadonlySet<string> = new Set(["Ready", "LimitsEnforced"]);

/** Returns the patch from the status `seen` at the server to the `wanted` one; undefined if nothing differs. */
export function statusDelta(seen: NCAppStatus | undefined, wanted: NCAppStatus): MergePatch | undefined {
  const from = ownFields(seen ?? {});
  const to = ownFields({ ...wanted, conditions: mergeConditions(seen?.conditions, wanted.conditions) });
  return mergePatch(from, to);
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
 * writers. A condition keeps its transition time while its status is unchanged, and `Scheduled` keeps the scheduler's message.
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
  // In the order of `seen`, so that order alone is never a difference.
  const place = ({ type }: Condition) => seen.findIndex((before) => before.type === type);
  const known = [...merged, ...kept].filter((condition) => place(condition) >= 0);
  const added = merged.filter((condition) => place(condition) < 0);
  return [...known.sort((a, b) => place(a) - place(b)), ...added];
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

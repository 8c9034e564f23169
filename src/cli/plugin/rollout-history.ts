/** The revisions of a set as `rollout history` shows them, and which of them `rollout undo` takes. Pure. */
import type { AppTemplate, NCAppSet } from "../../api/types.ts";
import { ageOf, formatTable, printableLine } from "../screen/screen.ts";
import { describeSet, type Revision } from "./set-objects.ts";

const changeCause = "kubernetes.io/change-cause";

/** Returns a table of the revisions, the oldest first. */
export function historyLines(set: NCAppSet, revisions: readonly Revision[], now: number): string[] {
  if (revisions.length === 0) return [`${describeSet(set)} has no revisions yet.`];
  return formatTable([
    ["REVISION", "NAME", "STATE", "AGE", "CHANGE-CAUSE"],
    ...revisions.map(({ revision, metadata }) => [
      String(revision),
      metadata.name,
      stateOf(set, metadata.name),
      ageOf(metadata.creationTimestamp, now),
      printableLine(metadata.annotations?.[changeCause] ?? "-"),
    ]),
  ]);
}

/** Finds a revision by its number. Throws an error that lists those that there are. */
export function findRevision(set: NCAppSet, revisions: readonly Revision[], number: number): Revision {
  const found = revisions.find(({ revision }) => revision === number);
  if (found) return found;
  const known = revisions.map(({ revision }) => revision).join(", ") || "none";
  throw new Error(`${describeSet(set)} has no revision ${number}; there are: ${known}`);
}

/** Chooses the revision to go back to: the one with this number, or the newest that is not being rolled out. */
export function revisionToRestore(
  set: NCAppSet,
  revisions: readonly Revision[],
  number: number | undefined,
): Revision {
  const { updateRevision: update, observedGeneration = 0 } = set.status ?? {};
  if (number === undefined && observedGeneration < (set.metadata.generation ?? 1)) {
    throw new Error(
      `${
        describeSet(set)
      } has a change that the controller has not seen, so the revision before it is not known: ` +
        "try again, or choose one with --to-revision",
    );
  }
  const chosen = number === undefined
    ? revisions.findLast(({ metadata }) => metadata.name !== update)
    : findRevision(set, revisions, number);
  if (!chosen) throw new Error(`${describeSet(set)} has no earlier revision: there is nothing to undo`);
  if (chosen.metadata.name === update) {
    throw new Error(
      `${describeSet(set)} has the template of revision ${chosen.revision} already; ` +
        "'kubectl ncapp rollout history' lists the others",
    );
  }
  return chosen;
}

export function templateOf(set: NCAppSet, { data, metadata }: Revision): AppTemplate {
  if (data?.spec) return data;
  throw new Error(`ControllerRevision ${metadata.name} of ${describeSet(set)} has no template`);
}

function stateOf({ status = {} }: NCAppSet, name: string): string {
  const roles = [
    status.updateRevision === name && "update",
    status.currentRevision === name && status.currentRevision !== status.updateRevision && "current",
    status.stableRevision === name && "stable",
  ];
  return roles.filter(Boolean).join(",") || "-";
}

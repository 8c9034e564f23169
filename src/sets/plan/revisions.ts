/**
 * The revisions of a set: which one is the template's, and which may go.
 *
 * A template that equals an earlier revision is that revision: its number becomes the newest. Templates are compared with their
 * defaults filled in, so that a new default in the CRD is no new revision.
 */
import { setLabels } from "../../api/names.ts";
import { template as templateSchema } from "../../api/schema/schema.ts";
import type { AppTemplate } from "../../api/types.ts";
import { withDefaults } from "../../api/validate/validate.ts";
import { memoize } from "../../lib/memoize.ts";
import type { Action, Revision, World } from "../types.ts";
import { canonical, hashOf, revisionName } from "./names.ts";

export interface Revisions {
  /** The revision of the template; undefined until it exists. */
  update?: Revision;
  byName: ReadonlyMap<string, Revision>;
  byHash: ReadonlyMap<string, Revision>;
  collisionCount: number;
  actions: Action[];
}

/** What the schema of the status accepts. */
const maxCollisions = 2 ** 31 - 1;
const triesPerPlan = 64;

const text = memoize((template: AppTemplate) => canonical(withDefaults(templateSchema, template)));

export function findRevisions({ set, revisions, revisionNamed }: World): Revisions {
  const { template } = set.spec;
  const usable = revisions.filter(({ data, metadata }) => data && !metadata.deletionTimestamp);
  const byName = new Map(usable.map((revision) => [revision.metadata.name, revision]));
  const byHash = new Map(usable.map((revision) => [hashLabel(revision), revision]));
  const newest = usable.reduce((highest, { revision }) => Math.max(highest, revision), 0);
  const known = { byName, byHash, collisionCount: set.status?.collisionCount ?? 0 };
  const update = usable.find(({ data }) => text(data!) === text(template));
  if (update) {
    const isNewest = update.revision === newest &&
      usable.every((other) => other === update || other.revision < newest);
    const actions: Action[] = isNewest
      ? []
      : [{ kind: "renumberRevision", revision: update, number: newest + 1 }];
    return { ...known, update, actions };
  }
  // The status may say anything; a number that cannot be counted on would be the same forever.
  if (known.collisionCount >= maxCollisions) known.collisionCount = 0;
  for (let tries = 0; tries < triesPerPlan; tries++, known.collisionCount++) {
    const hash = hashOf(known.collisionCount > 0 ? [template, known.collisionCount] : template);
    const name = revisionName(set.metadata.name, hash);
    const other = revisionNamed(name);
    if (!other) {
      const action: Action = { kind: "createRevision", name, hash, revision: newest + 1, data: template };
      return { ...known, actions: [action] };
    }
    // Of a set with this name that was deleted without its apps.
    if (!hasController(other) && other.data && text(other.data) === text(template)) {
      return { ...known, actions: [{ kind: "adoptRevision", revision: other }] };
    }
  }
  // The next plan goes on from the count in the status.
  return { ...known, actions: [] };
}

/** Returns the deletion of the oldest revisions beyond the limit. Those that apps have, and those of `kept`, stay. */
export function pruneRevisions(
  revisions: readonly Revision[],
  used: ReadonlySet<string>,
  kept: readonly (string | undefined)[],
  limit: number,
): Action[] {
  const unused = revisions.filter(({ metadata }) =>
    !used.has(metadata.labels?.[setLabels.revision] ?? "") && !kept.includes(metadata.name) &&
    !metadata.deletionTimestamp
  );
  const oldestFirst = unused.sort((a, b) => a.revision - b.revision);
  return oldestFirst.slice(0, Math.max(0, unused.length - limit)).map((revision) => ({
    kind: "deleteRevision",
    revision,
  }));
}

export function hashLabel({ metadata }: Revision): string {
  return metadata.labels?.[setLabels.revision] ?? "";
}

export function hasController({ metadata }: { metadata: Revision["metadata"] }): boolean {
  return (metadata.ownerReferences ?? []).some(({ controller }) => controller);
}

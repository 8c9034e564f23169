/**
 * What an app of a set should look like: the template of its revision, with the overrides of its node.
 *
 * An app of one node is bound to it and stays there: it tolerates the loss of the node, and no scheduler can place it elsewhere.
 */
import { annotations, apiVersion, setKind, setLabels } from "../../api/names.ts";
import { choosesNode, hasLabels, tolerationMs, unreachableKeys } from "../../api/placement/placement.ts";
import { placementFields } from "../../api/rules/rules.ts";
import { programFields, templateSpec } from "../../api/schema/schema.ts";
import type { AppTemplate, NCAppSpec } from "../../api/types.ts";
import { withDefaults } from "../../api/validate/validate.ts";
import { applyMergePatch, mergePatch } from "../../lib/objects.ts";
import { isDeepStrictEqual } from "node:util";
import type { App, AppSet, NewApp, Node, OwnerReference, Revision } from "../types.ts";
import { hashOf } from "./names.ts";
import { hashLabel } from "./revisions.ts";

/** Caps that the scheduler writes, too, as the defaults of a namespace. */
const caps = ["cpuPCT", "memPCT"] as const;

export interface Renderer {
  /** Reports whether the set has written this revision into the app, for this node. */
  isCurrent(app: App, revision: Revision, node: Node | undefined): boolean;
  create(name: string, revision: Revision, node: Node | undefined): NewApp;
  /** Reports whether the agent restarts the app when it becomes this revision. */
  restarts(app: App, revision: Revision, node: Node | undefined): boolean;
  /** Returns the merge patch that turns the app into this revision. `isMoved`: the scheduler places it anew. */
  update(
    app: App,
    revision: Revision,
    node: Node | undefined,
    how: { old: Revision | undefined; isMoved?: boolean },
  ): object;
}

/** `pinned`: each app belongs to the node that it is rendered for. */
export function createRenderer(set: AppSet, { pinned, now }: { pinned: boolean; now: number }): Renderer {
  const { overrides = [] } = set.spec;
  const marks = new Map<Revision, Map<string, string>>();

  const none: { key: string; patches: unknown[] } = { key: "", patches: [] };
  const known = new Map<Node, typeof none>();
  /** Finds the overrides of a node, and a key for their combination. */
  const overridesOf = (node: Node | undefined) => {
    if (!node || overrides.length === 0) return none;
    let found = known.get(node);
    if (!found) {
      const matching = [...overrides.entries()].filter(([, { nodeSelector }]) =>
        hasLabels(node.properties.labels, nodeSelector)
      );
      const patches = matching.map(([, { patch }]) => patch.spec);
      known.set(node, found = { key: matching.map(([at]) => at).join(), patches });
    }
    return found;
  };
  const specs = new Map<Revision, Map<string, NCAppSpec>>();
  /** Renders each combination once: all its apps share the parts of one spec, which may be large. */
  const sharedSpec = (revision: Revision, { key, patches }: typeof none): NCAppSpec => {
    let rendered = specs.get(revision);
    if (!rendered) specs.set(revision, rendered = new Map());
    let spec = rendered.get(key);
    if (!spec) {
      const patched = patches.reduce<unknown>(
        (before, patch) => applyMergePatch(before, withoutPlacement(patch)),
        revision.data!.spec,
      );
      rendered.set(key, spec = withDefaults(templateSpec, patched) as NCAppSpec);
    }
    return spec;
  };
  const specOf = (revision: Revision, node: Node | undefined): NCAppSpec => {
    const spec = sharedSpec(revision, overridesOf(node));
    if (pinned && node) return pinTo(node.name, spec);
    return set.spec.job ? keepIfLost(spec) : spec;
  };
  /** Returns the mark of what the set writes into an app: a hash, and which caps are its own. */
  const mark = (revision: Revision, node: Node | undefined): string => {
    const { key, patches } = overridesOf(node);
    let texts = marks.get(revision);
    if (!texts) marks.set(revision, texts = new Map());
    let text = texts.get(key);
    if (text === undefined) {
      const spec = specOf(revision, node);
      const own = caps.filter((cap) => spec[cap] !== undefined);
      texts.set(key, text = [hashOf([revision.data, patches]), ...own].join(" "));
    }
    return text;
  };
  const ownAnnotations = (revision: Revision, node: Node | undefined) => ({
    [annotations.updatedAt]: new Date(now).toISOString(),
    [annotations.written]: mark(revision, node),
  });

  return {
    isCurrent: ({ metadata }, revision, node) =>
      metadata.labels?.[setLabels.revision] === hashLabel(revision) &&
      metadata.annotations?.[annotations.written] === mark(revision, node),
    create: (name, revision, node) => ({
      name,
      labels: { ...revision.data!.metadata.labels, [setLabels.revision]: hashLabel(revision) },
      annotations: { ...revision.data!.metadata.annotations, ...ownAnnotations(revision, node) },
      spec: specOf(revision, node),
    }),
    restarts({ spec, metadata }, revision, node) {
      const next = specOf(revision, node);
      const restart = revision.data!.metadata.annotations?.[annotations.restartedAt];
      return (restart !== undefined && metadata.annotations?.[annotations.restartedAt] !== restart) ||
        programFields.some((field) => !isDeepStrictEqual(spec[field], next[field]));
    },
    update(app, revision, node, { old, isMoved = false }) {
      const next = specOf(revision, node);
      const [before, after] = [{ ...app.spec }, { ...next }];
      const written = app.metadata.annotations?.[annotations.written]?.split(" ").slice(1) ?? [];
      // The scheduler wrote it: the namespace has a default.
      for (const cap of caps) if (after[cap] === undefined && !written.includes(cap)) delete before[cap];
      if (pinned) delete before.nodeName, delete after.nodeName;
      else if (!isMoved && !mustMove(app, node, revision)) delete before.nodeName;
      const { labels = {}, annotations: notes = {} } = revision.data!.metadata;
      return {
        metadata: {
          labels: {
            ...removed(old?.data?.metadata.labels, labels),
            ...labels,
            [setLabels.revision]: hashLabel(revision),
          },
          annotations: {
            ...removed(old?.data?.metadata.annotations, notes),
            ...notes,
            ...ownAnnotations(revision, node),
          },
        },
        ...(mergePatch(before, after) ? { spec: mergePatch(before, after) } : {}),
      };
    },
  };
}

/** Returns the owner reference that makes the set the controller of an object. */
export function ownerOf({ metadata: { name, uid } }: AppSet): OwnerReference {
  return { apiVersion, kind: setKind, name, uid, controller: true, blockOwnerDeletion: true };
}

function withoutPlacement(patch: unknown): unknown {
  const fields = Object.entries(patch ?? {}).filter(([name]) =>
    !(placementFields as readonly string[]).includes(name)
  );
  return Object.fromEntries(fields);
}

function pinTo(node: string, spec: NCAppSpec): NCAppSpec {
  const { affinity, tolerations = [] } = spec;
  const onlyHere = { key: "metadata.name", operator: "In", values: [node] } as const;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ??
    [{}];
  const [key] = unreachableKeys;
  return {
    ...spec,
    nodeName: node,
    affinity: {
      ...affinity,
      nodeAffinity: {
        ...affinity?.nodeAffinity,
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: terms.map((term) => ({
            ...term,
            matchFields: [...term.matchFields ?? [], { ...onlyHere, values: [...onlyHere.values] }],
          })),
        },
      },
    },
    tolerations: [...tolerations, { key, operator: "Exists" }],
  };
}

/** An app of a job may still run on a lost node, and must not run twice: it moves only if its template says when, or the Node is deleted. */
function keepIfLost(spec: NCAppSpec): NCAppSpec {
  const { tolerations = [] } = spec;
  const taints = unreachableKeys.map((key) => ({ key, effect: "NoExecute" }));
  if (tolerationMs(tolerations, taints) !== undefined) return spec;
  return { ...spec, tolerations: [...tolerations, { key: unreachableKeys[0], operator: "Exists" }] };
}

/** A bound app stays where it is; if its new rules do not choose that node, the scheduler places it again. */
function mustMove(app: App, node: Node | undefined, { data }: Revision): boolean {
  return node !== undefined && app.spec.nodeName === node.name &&
    !choosesNode(data!.spec, node.name, node.properties);
}

/** Returns nulls for the names that are no longer in the template. */
function removed(
  old: Record<string, string> = {},
  next: AppTemplate["metadata"]["labels"],
): Record<string, null> {
  return Object.fromEntries(
    Object.keys(old).filter((name) => !Object.hasOwn(next, name)).map((name) => [name, null]),
  );
}

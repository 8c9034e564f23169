/**
 * Plans the mirrors of a node: the API server's copies of apps that come from files, a URL or the socket. Pure.
 *
 * Guarantees: only mirrors of this node are changed, and only those that carry their own uid are deleted, never before all local
 * sources are known. A copy of a mirror is an ordinary app. A mirror
 * has the name of its app, or, if another object has that name, the name with the node's name as a suffix. A mirror contains no
 * secrets: a file on the node may contain what the cluster must not see.
 */
import { createHash } from "node:crypto";
import {
  annotations,
  apiVersion,
  appKey,
  defaultNamespace,
  isMirrorOf,
  isProvenMirror,
  keyOf,
  kind,
} from "../../api/names.ts";
import { showSpec } from "../../api/shown-spec.ts";
import type { NCApp } from "../../api/types.ts";
import { mergePatch } from "../../lib/objects.ts";

/** An app of the API server, from a list or watch. */
export type ServerApp = NCApp & { metadata: { namespace: string; uid: string; resourceVersion: string } };

export type MirrorAction =
  | { kind: "create"; key: string; body: NCApp }
  | { kind: "update"; key: string; mirror: ServerApp; patch: object }
  | { kind: "delete"; key: string; mirror: ServerApp };

export interface MirrorContext {
  node: string;
  /** All local sources have been read: an app that is not in the list is gone. */
  complete: boolean;
  /** Keys of apps whose name another object has at the API server. */
  taken?: ReadonlySet<string>;
  /** The generation that this agent wrote last, by uid: another one means that another client changed it. */
  written?: ReadonlyMap<string, number | undefined>;
}

export function planMirrors(local: NCApp[], existing: ServerApp[], context: MirrorContext): MirrorAction[] {
  const { node, complete, taken, written } = context;
  const mirrors = mirrorsByApp(existing, node);
  const actions: MirrorAction[] = [];
  for (const app of local) {
    const key = keyOf(app);
    const [mirror, ...doubles] = mirrors.get(key) ?? [];
    mirrors.delete(key);
    const name = mirror?.metadata.name ?? mirrorName(app, node, taken?.has(key) ?? false);
    const wanted = mirrorOf(app, node, name, mirror?.metadata.uid);
    if (!mirror) actions.push({ kind: "create", key, body: wanted });
    else if (differs(mirror, wanted, written)) {
      actions.push({ kind: "update", key, mirror, patch: patchTo(mirror, wanted) });
    }
    actions.push(...deletions(key, doubles));
  }
  if (!complete) return actions;
  return [...actions, ...[...mirrors].flatMap(([key, list]) => deletions(key, list))];
}

function deletions(key: string, mirrors: ServerApp[]): MirrorAction[] {
  return mirrors.filter(isProvenMirror).map((mirror) => ({ kind: "delete", key, mirror }));
}

/** Groups the mirrors of this node by the key of their app; proven ones first, and the one with the app's own name. */
export function mirrorsByApp(existing: ServerApp[], node: string): Map<string, ServerApp[]> {
  const mirrors = new Map<string, ServerApp[]>();
  for (const app of existing.filter((app) => isMirrorOf(node, app))) {
    const key = appKey(app.metadata.namespace, shownName(app));
    mirrors.set(key, [...mirrors.get(key) ?? [], app]);
  }
  const rank = (app: ServerApp) =>
    (isProvenMirror(app) ? 0 : 2) + (app.metadata.name === shownName(app) ? 0 : 1);
  for (const list of mirrors.values()) list.sort((one, other) => rank(one) - rank(other));
  return mirrors;
}

/** The annotation that proves a mirror. */
export function uidAnnotation(uid: string): Record<string, string> {
  return { [annotations.mirrorUid]: uid };
}

function mirrorOf({ metadata, spec }: NCApp, node: string, name: string, uid?: string): NCApp {
  const namespace = metadata.namespace || defaultNamespace;
  const shown = { ...showSpec(spec), nodeName: node };
  const content = { labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {}, spec: shown };
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 16);
  const marks = {
    [annotations.mirror]: `${node}/${digest}`,
    [annotations.mirrorOf]: metadata.name,
    ...(uid && uidAnnotation(uid)),
  };
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, labels: content.labels, annotations: { ...content.annotations, ...marks } },
    spec: shown,
  };
}

/** Compares digests, not specs: the server adds defaults, and one with an older CRD drops fields that it does not know. */
function differs(mirror: ServerApp, wanted: NCApp, written: MirrorContext["written"]): boolean {
  const mark = (app: NCApp) => app.metadata.annotations?.[annotations.mirror];
  const known = written?.get(mirror.metadata.uid);
  return mark(mirror) !== mark(wanted) || !isProvenMirror(mirror) ||
    known !== undefined && known !== mirror.metadata.generation;
}

function patchTo({ metadata, spec }: ServerApp, wanted: NCApp): object {
  const { uid, resourceVersion, labels = {}, annotations = {} } = metadata;
  return {
    metadata: {
      uid,
      resourceVersion,
      labels: mergePatch(labels, wanted.metadata.labels ?? {}),
      // Annotations of other clients stay.
      annotations: mergePatch(annotations, { ...annotations, ...wanted.metadata.annotations }),
    },
    spec: mergePatch(spec, wanted.spec),
  };
}

function mirrorName({ metadata: { name } }: NCApp, node: string, isTaken: boolean): string {
  if (!isTaken) return name;
  const suffix = `-${node}`;
  return name.slice(0, 253 - suffix.length).replace(/[^a-z0-9]+$/, "") + suffix;
}

function shownName({ metadata }: NCApp): string {
  return metadata.annotations?.[annotations.mirrorOf] ?? metadata.name;
}

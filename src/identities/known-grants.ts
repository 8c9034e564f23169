/** What the watches have shown of apps that refer to Secrets, and of the Roles that let their nodes read these. */
import { grantAnnotation, grantLabel } from "../api/names.ts";
import type { References } from "../api/references.ts";
import type { Followers } from "../kube/follower.ts";
import { objectKey } from "../kube/objects.ts";
import { ObjectStore } from "../kube/object-store.ts";
import { ncapps, roleBindings, roles } from "../kube/resources.ts";
import type { Identified, KubeObject } from "../kube/wire.ts";
import { contentOf, type Grant, grantName, grantObjects } from "./grant-objects.ts";
import { type GrantedApp, grantedApp, type GrantKey, grantKey, grants, keysOf, splitKey } from "./grants.ts";

export type GrantKind = "role" | "binding";

export interface KnownGrants {
  /** What the apps of a node need there; undefined for nothing. */
  wanted(key: GrantKey): References | undefined;
  /** Whether Role and RoleBinding are as these apps need them. */
  isDone(key: GrantKey): boolean;
  /** All that may need a write. */
  keys(): Set<GrantKey>;
  /** Takes the answer to a write. */
  wrote(kind: GrantKind, object: Grant): void;
  removed(kind: GrantKind, object: Grant): void;
}

/** What is kept of a Role or a RoleBinding. */
interface Written extends KubeObject {
  metadata: { namespace: string; name: string; uid: string; resourceVersion: string };
  node: string;
  content: string;
}

/** `onKey` is called with each key that may need a write. */
export function followGrants(followers: Followers, onKey: (key: GrantKey) => void): KnownGrants {
  const index = new Map<GrantKey, Map<string, GrantedApp>>();
  const apps = new ObjectStore<GrantedApp>({
    idOf,
    onChange(now, before) {
      const [keys, earlier] = [now, before].map((app) => app ? keysOf(app) : []) as [GrantKey[], GrantKey[]];
      for (const key of earlier) leave(index, key, before!.metadata.uid);
      for (const key of keys) join(index, key, now!);
      // Most changes of an app are those of its status.
      if (now && before && needsOf(now) === needsOf(before)) return;
      for (const key of new Set([...keys, ...earlier])) onKey(key);
    },
  });
  const storeOf = () =>
    new ObjectStore<Written>({
      idOf,
      onChange: (now, before) =>
        [now, before].forEach((object) => object && isOurs(object) && onKey(keyOf(object))),
    });
  const stores = { role: storeOf(), binding: storeOf() };
  const options = { labelSelector: `${grantLabel}=true` };
  followers.follow({ resource: ncapps, ...into(apps, grantedApp) });
  followers.follow({ resource: roles, ...into(stores.role, read, options) });
  followers.follow({ resource: roleBindings, ...into(stores.binding, read, options) });

  const wanted = (key: GrantKey) => grants(index.get(key)?.values() ?? []).get(key);
  return {
    wanted,
    isDone(key) {
      const { namespace, node } = splitKey(key);
      const references = wanted(key);
      const objects = references && grantObjects(namespace, node, references);
      return (["role", "binding"] as const).every((kind) =>
        stores[kind].get(`${namespace}/${grantName(node)}`)?.content === (objects && contentOf(objects[kind]))
      );
    },
    keys() {
      const written = [...stores.role.values(), ...stores.binding.values()].filter(isOurs);
      return new Set([...index.keys(), ...written.map(keyOf)]);
    },
    wrote: (kind, object) => stores[kind].apply(read(object)),
    removed: (kind, object) => stores[kind].forget({ key: objectKey(object), uid: object.metadata.uid }),
  };
}

const idOf = (object: KubeObject & { metadata: Written["metadata"] }) => ({
  ...object.metadata,
  key: objectKey(object),
});

function read(object: KubeObject): Written {
  const { namespace, name, uid, resourceVersion, annotations } = (object as Grant).metadata;
  const node = annotations?.[grantAnnotation] ?? "";
  return { metadata: { namespace, name, uid, resourceVersion }, node, content: contentOf(object as Grant) };
}

/** One with another name is not ours, whatever it says. */
function isOurs({ metadata: { name }, node }: Written): boolean {
  return grantName(node) === name;
}

function keyOf({ metadata: { namespace }, node }: Written): GrantKey {
  return grantKey(namespace, node);
}

function needsOf({ nodes, secrets, configMaps }: GrantedApp): string {
  return JSON.stringify([nodes, secrets, configMaps]);
}

/** A sink that keeps what `read` makes of each object, and drops those of which it makes nothing. */
function into<Kept extends KubeObject>(
  store: ObjectStore<Kept>,
  read: (object: KubeObject) => Kept | undefined,
  options: { labelSelector?: string } = {},
) {
  return {
    options: {
      ...options,
      filter: (object: KubeObject) => read(object) !== undefined,
      slim: (object: KubeObject) => read(object)!,
    },
    replace: (items: KubeObject[], rewound: boolean, version: string) =>
      store.replace(items as Kept[], version, { rewound }),
    apply: (object: KubeObject) => store.apply(object as Kept),
    remove: (object: Identified<KubeObject>) =>
      store.remove({ key: objectKey(object), uid: object.metadata.uid }),
  };
}

function join(index: Map<GrantKey, Map<string, GrantedApp>>, key: GrantKey, app: GrantedApp): void {
  const apps = index.get(key) ?? new Map<string, GrantedApp>();
  index.set(key, apps.set(app.metadata.uid, app));
}

function leave(index: Map<GrantKey, Map<string, GrantedApp>>, key: GrantKey, uid: string): void {
  const apps = index.get(key);
  apps?.delete(uid);
  if (apps?.size === 0) index.delete(key);
}

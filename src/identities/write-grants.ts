/**
 * Keeps the Roles by which agents read the Secrets and ConfigMaps of their apps as `grants.ts` decides.
 *
 * Guarantees: a right is written as soon as its app is bound, the Role before its RoleBinding. Before one is taken away, the API server is
 * asked which apps the node has: a controller that has just started, or whose watches lag behind, takes nothing that an app needs, and
 * the version of the Role that was read before that rejects the write if another one was faster. A controller that is killed between
 * two writes leaves a right too many at most. What others changed is replaced.
 */
import { mayI } from "../kube/access-review.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Followers } from "../kube/follower.ts";
import { objectsOf } from "../kube/guarded-write.ts";
import type { Leadership } from "../kube/leader.ts";
import { ncapps, roleBindings, roles } from "../kube/resources.ts";
import { listAll } from "../kube/watch/watch.ts";
import type { KubeObject } from "../kube/wire.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { createKeyedWriter } from "../report/keyed-writer.ts";
import {
  contentOf,
  type Grant,
  grantName,
  grantObjects,
  onlyGrants,
  type Role,
  type RoleBinding,
} from "./grant-objects.ts";
import { type GrantedApp, grantedApp, type GrantKey, grants, maxNames, splitKey } from "./grants.ts";
import { followGrants, type GrantKind } from "./known-grants.ts";

export interface GrantsOptions {
  client: KubeClient;
  log: Logger;
  followers: Followers;
  /** How often to look whether the right to write Roles is there. */
  lookMs?: number;
}

/** Returns what writes them while it leads. */
export function createGrants(
  { client, log, followers, lookMs = 60_000 }: GrantsOptions,
): (leadership: Leadership) => Promise<void> {
  let dirty = new Set<GrantKey>();
  let schedule = (_: GrantKey) => {};
  const known = followGrants(followers, (key) => {
    dirty.add(key);
    schedule(key);
  });
  let wasDenied = false;

  /** Only with the admission policies does the API server let this user write Roles with rights that it does not have. */
  const waitUntilAllowed = async (signal: AbortSignal) => {
    const { group, plural: resource } = roles;
    while (!signal.aborted) {
      const allowed = await mayI(client, { verb: "escalate", group, resource }, signal).catch(() =>
        undefined
      );
      if (allowed) return;
      if (allowed === false && !wasDenied) {
        wasDenied = true;
        log.warn(
          "this user may not write Roles: agents read Secrets and ConfigMaps only where an administrator lets them (docs/security.md)",
        );
      }
      await sleep(lookMs, signal);
    }
  };

  return async ({ signal, isLeader }) => {
    while (!followers.ready && !signal.aborted) await sleep(50, signal);
    await waitUntilAllowed(signal);
    if (signal.aborted) return;
    const write = createWrite({ client, log, known, mayWrite: isLeader });
    const queue = createKeyedWriter<GrantKey>({
      what: "Roles of nodes",
      // An administrator can make writes fail in one namespace, which must not slow down the others.
      appOf: (key) => splitKey(key).namespace,
      log,
      maxInFlight: 4,
      due: (key) => dirty.has(key) ? { at: 0, urgent: true } : undefined,
      async write(key, { signal }) {
        dirty.delete(key);
        if (!isLeader() || known.isDone(key)) return "skipped";
        try {
          await write(key, signal);
        } catch (error) {
          dirty.add(key);
          throw error;
        }
      },
    });
    schedule = queue.scheduleSeen;
    dirty = known.keys();
    for (const key of [...dirty]) schedule(key);
    try {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    } finally {
      schedule = () => {};
      queue.close();
    }
  };
}

interface WriteParts {
  client: KubeClient;
  log: Logger;
  known: ReturnType<typeof followGrants>;
  /** Asked before each write. */
  mayWrite: () => boolean;
}

function createWrite({ client, log, known, mayWrite }: WriteParts) {
  return async (key: GrantKey, signal: AbortSignal): Promise<void> => {
    const { namespace, node } = splitKey(key);
    const objects = {
      role: objectsOf<Role>(client, roles, { signal }),
      binding: objectsOf<RoleBinding>(client, roleBindings, { signal }),
    };
    const wrote = async (kind: GrantKind, wanted: object, write: () => Promise<Grant>) => {
      if (!mayWrite()) return;
      const object = await write();
      known.wrote(kind, object);
      // Such as a webhook. Without an error it would be written again at once, and again.
      if (contentOf(object) !== contentOf(wanted)) {
        throw new Error(
          `something in the API server changed the ${object.kind} ${namespace}/${ref.name} that was written`,
        );
      }
    };
    const remove = async (kind: GrantKind, object: Grant | undefined) => {
      if (!object || !mayWrite()) return;
      const { namespace, name, uid, resourceVersion } = object.metadata;
      await objects[kind].remove({ namespace, name, uid, resourceVersion });
      known.removed(kind, object);
    };

    const ref = { namespace, name: grantName(node) };
    const [role, binding] = await Promise.all([objects.role.read(ref), objects.binding.read(ref)]);
    let wanted = known.wanted(key);
    if (!wanted || role && !onlyGrants(role, wanted)) {
      wanted = grants(await appsOf(client, { namespace, node, signal })).get(key);
    }
    if (!wanted) {
      await remove("binding", binding);
      await remove("role", role);
      return;
    }
    if (wanted.secrets.length + wanted.configMaps.length >= maxNames) {
      log.warn(`apps refer to more than ${maxNames} Secrets and ConfigMaps: the newest ones wait`, {
        namespace,
        node,
      });
    }
    const right = grantObjects(namespace, node, wanted);
    if (!role) await wrote("role", right.role, () => objects.role.create(right.role));
    else if (contentOf(role) !== contentOf(right.role)) {
      await wrote("role", right.role, () => objects.role.patch(role.metadata, right.changes.role));
    }
    if (
      binding && contentOf({ roleRef: binding.roleRef }) === contentOf({ roleRef: right.binding.roleRef })
    ) {
      if (contentOf(binding) === contentOf(right.binding)) return;
      await wrote(
        "binding",
        right.binding,
        () => objects.binding.patch(binding.metadata, right.changes.binding),
      );
    } else {
      await remove("binding", binding);
      await wrote("binding", right.binding, () => objects.binding.create(right.binding));
    }
  };
}

/** Asks the API server, past all caches, for the apps that a node has in a namespace. */
async function appsOf(
  client: KubeClient,
  { namespace, node, signal }: { namespace: string; node: string; signal: AbortSignal },
): Promise<GrantedApp[]> {
  const list = async (field: string) => {
    const { items } = await listAll<KubeObject>(client, {
      resource: ncapps,
      namespace,
      fieldSelector: `${field}=${node}`,
      filter: (object) => grantedApp(object) !== undefined,
      slim: (object) => grantedApp(object)!,
      signal,
    });
    return items as KubeObject[] as GrantedApp[];
  };
  const [bound, held] = await Promise.all([list("spec.nodeName"), list("status.nodeName")]);
  return [...new Map([...bound, ...held].map((app) => [app.metadata.uid, app])).values()];
}

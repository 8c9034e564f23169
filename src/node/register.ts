/**
 * Keeps the Node object of this machine: creates a missing one, maintains it while the agent owns it, and changes only one label of a
 * kubelet's Node.
 *
 * Guarantees: what other clients write to the Node stays; a write is rejected if the Node was recreated or changed since it was read;
 * an unchanged Node costs one write every five minutes.
 */
import { nodeTaint } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type Objects, objectsOf } from "../kube/guarded-write.ts";
import { nodes } from "../kube/resources.ts";
import type { Logger } from "../lib/log.ts";
import { mergePatch } from "../lib/objects.ts";
import {
  adopted,
  leftToKubelet,
  lookedAfter,
  newNode,
  type Node,
  type NodePicture,
  nodeStatus,
  ownerOf,
} from "./node-object.ts";

/** `auto`: create the Node, or maintain it unless a kubelet does. `always`: even if a kubelet does. `never`: do not touch it. */
export type RegisterMode = "auto" | "always" | "never";

export interface Registration {
  /** Updates the Node. Throws a KubeError. */
  syncOnce(picture: NodePicture, signal?: AbortSignal): Promise<void>;
  /** The Node, if it is known; `registered`: the agent owns it. */
  readonly node: { uid: string; registered: boolean } | undefined;
}

export interface RegistrationOptions {
  client: KubeClient;
  node: string;
  mode: RegisterMode;
  log: Logger;
  now?: () => number;
}

/** After this time conditions are written even if nothing changed. */
const heartbeatMs = 300_000;

export function createRegistration(options: RegistrationOptions): Registration {
  const { client, node: name, mode, log, now = Date.now } = options;
  let known: Registration["node"];

  const create = async (objects: Objects<Node>, picture: NodePicture) => {
    const { metadata: { uid } } = await objects.create(newNode(picture, now()));
    log.info("registered the node", { node: name });
    known = { uid, registered: true };
  };

  /** Writes what differs and returns the Node as it is then. */
  const write = async (
    objects: Objects<Node>,
    node: Node,
    wanted: Pick<Node, "metadata" | "spec" | "status">,
    subresource?: string,
  ) => {
    const patch = mergePatch(node, { ...node, ...wanted });
    return patch ? await objects.patch({ ...node.metadata, subresource }, patch) : node;
  };

  const lookAfter = async (objects: Objects<Node>, node: Node, picture: NodePicture) => {
    const isNew = ownerOf(node) !== "agent";
    if (isNew) log.info("took over the node", { node: name, from: ownerOf(node) });
    const current = await write(objects, node, isNew ? adopted(node, picture) : lookedAfter(node, picture));
    const status = nodeStatus(current.status ?? {}, picture, now());
    if (isDue(current, status, now())) await write(objects, current, { status }, "status");
  };

  return {
    get node() {
      return known;
    },
    async syncOnce(picture, signal) {
      if (mode === "never") return;
      const objects = objectsOf<Node>(client, nodes, { signal });
      // From the server's cache, as kubelets read it: this is a node's most frequent read, and spares etcd. If the cache lags, the
      // write is rejected by its resourceVersion, or the creation by the name, and the next call reads it again.
      const node = await objects.read({ name }, { query: { resourceVersion: "0" } });
      if (!node) {
        if (known) log.warn("the Node was deleted; registering it again", { node: name });
        // A Lease that belongs to a deleted Node is deleted too.
        known = undefined;
        return await create(objects, picture);
      }
      const registered = mode === "always" || ownerOf(node) !== "kubelet";
      if (known?.registered && !registered) {
        const next = `kubectl taint node ${name} ${nodeTaint.key}:${nodeTaint.effect}-`;
        log.info(`a kubelet has taken the node over; it gets Pods when an administrator runs ${next}`, {
          node: name,
        });
      }
      known = { uid: node.metadata.uid, registered };
      if (registered) await lookAfter(objects, node, picture);
      else await write(objects, node, leftToKubelet(node));
    },
  };
}

/** Reports whether the status changed, or the last one is old. */
function isDue({ status: before }: Node, status: NonNullable<Node["status"]>, now: number): boolean {
  const ready = before?.conditions?.find(({ type }) => type === "Ready");
  const beatAt = Date.parse(ready?.lastHeartbeatTime ?? "") || 0;
  if (Math.abs(now - beatAt) >= heartbeatMs) return true;
  return mergePatch(withoutBeats(before ?? {}), withoutBeats(status)) !== undefined;
}

function withoutBeats(status: NonNullable<Node["status"]>): object {
  const conditions = status.conditions?.map(({ lastHeartbeatTime: _, ...condition }) => condition)
    .sort((one, other) => one.type < other.type ? -1 : 1);
  return { ...status, conditions };
}

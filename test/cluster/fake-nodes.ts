/** Fake nodes with live agents: a Node object and a renewed Lease, in a real API server. */
import { agentLease, leaseNamespace } from "../../src/api/names.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { renewLease } from "../../src/kube/lease.ts";
import { leases, nodes, resourcePath } from "../../src/kube/resources.ts";
import { publish } from "../../src/node/published.ts";

export interface FakeNode {
  name: string;
  /** Stops renewing the Lease; the Node stays. */
  die(): Promise<void>;
  /** Deletes Node and Lease. */
  remove(): Promise<void>;
}

export interface FakeNodeOptions {
  labels?: Record<string, string>;
  taints?: { key: string; value?: string; effect: string }[];
  reservedPCT?: number;
  /** The duration of its Lease, which is renewed four times as often. */
  leaseSeconds?: number;
}

/** Adds a ready node whose agent reports that nothing is in use. */
export async function addNode(
  client: KubeClient,
  name: string,
  options: FakeNodeOptions = {},
): Promise<FakeNode> {
  const { labels, taints, reservedPCT = 0, leaseSeconds = 40 } = options;
  const body = { apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec: { taints } };
  await client.request({ method: "POST", path: resourcePath(nodes), body });
  const conditions = [{ type: "Ready", status: "True", reason: "Fake", message: "breathes" }];
  await client.request({
    method: "PATCH",
    path: resourcePath(nodes, { name, subresource: "status" }),
    body: { status: { conditions } },
  });
  const share = (percent: number) => ({ cpuPCT: percent, memPCT: percent });
  const annotations = publish({
    used: share(1),
    free: share(100 - reservedPCT),
    reserved: share(reservedPCT),
    pressure: [],
    version: "fake",
  });
  const claim = {
    namespace: leaseNamespace,
    name: agentLease(name),
    holder: name,
    seconds: leaseSeconds,
    annotations,
  };
  let renewing = Promise.resolve();
  const renew = () => renewing = renewing.then(() => renewLease(client, claim)).then(() => {}, () => {});
  await renew();
  const timer = setInterval(renew, leaseSeconds * 250);
  const die = async () => {
    clearInterval(timer);
    await renewing;
  };
  return {
    name,
    die,
    async remove() {
      await die();
      const lease = resourcePath(leases, { namespace: leaseNamespace, name: agentLease(name) });
      for (const path of [resourcePath(nodes, { name }), lease]) {
        await client.request({ method: "DELETE", path }).catch(() => {});
      }
    },
  };
}

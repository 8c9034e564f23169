import assert from "node:assert/strict";
import { test } from "node:test";
import { agentLease, leaseNamespace } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import { leases } from "../../src/kube/resources.ts";
import { createHeldApps } from "../../src/sources/held-apps.ts";
import { ncapp } from "../builders.ts";
import { FakeApi } from "../kube/fake-api.ts";
import { waitFor } from "../wait-for.ts";

const lease = (renewTime: string) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: agentLease("node-a"), namespace: leaseNamespace },
  spec: { renewTime, leaseDurationSeconds: 40 },
});
const appOn = (nodeName: string | undefined) =>
  ncapp({ metadata: { name: "web" }, spec: { nodeName: "node-b" }, status: { nodeName } });

async function watching(
  use: (
    scene: { api: FakeApi; held: ReturnType<typeof createHeldApps>; freed: NCApp[]; clock: { now: number } },
  ) => Promise<void>,
) {
  const api = new FakeApi();
  const stopping = new AbortController();
  const freed: NCApp[] = [];
  const clock = { now: 0 };
  const held = createHeldApps(api.client, {
    node: "node-b",
    onFreed: (app) => freed.push(app),
    signal: stopping.signal,
    periodMs: 1,
    now: () => clock.now,
  });
  try {
    await use({ api, held, freed, clock });
  } finally {
    stopping.abort();
  }
}

test("an app waits for the node that holds it, and for none that let it go, never had it, or is this one", () =>
  watching(async ({ api, held, freed }) => {
    api.add(leases, lease("1"));
    assert.equal(held.heldBy(appOn("node-a")), "node-a");
    await waitFor("the Lease is read", () => api.asked.length > 2);
    for (const node of ["", undefined, "node-b"]) assert.equal(held.heldBy(appOn(node)), undefined);
    assert.deepEqual(freed, []);
  }));

test("an app is freed when the Lease of its holder stays missing, and stays free while the status still names it", () =>
  watching(async ({ api, held, freed, clock }) => {
    assert.equal(held.heldBy(appOn("node-a")), "node-a");
    await waitFor("the Lease is asked for", () => api.asked.length > 2);
    assert.deepEqual(freed, [], "a living agent creates it again");
    clock.now = 40_001;
    await waitFor("it is freed", () => freed.length === 1);
    assert.equal(held.heldBy(appOn("node-a")), undefined);
    assert.equal(held.heldBy(appOn("node-c")), "node-c", "another node holds it now");
  }));

test("an app is freed when the Lease of its holder was not renewed for as long as it lasts, by this clock", () =>
  watching(async ({ api, held, freed, clock }) => {
    const { metadata } = api.add(leases, lease("1"));
    const read = () => {
      const count = api.asked.length;
      return waitFor("the Lease is read twice more", () => api.asked.length > count + 2);
    };
    held.heldBy(appOn("node-a"));
    await read();
    clock.now = 39_000;
    await read();
    api.put(`/apis/coordination.k8s.io/v1/namespaces/${leaseNamespace}/leases/${metadata.name}`, lease("2"));
    await read();
    clock.now = 60_000;
    api.intercept = () => 503;
    await read();
    api.intercept = () => undefined;
    await read();
    assert.deepEqual(freed, [], "it was renewed, and an unreadable Lease proves nothing");
    clock.now = 80_001;
    await waitFor("it is freed", () => freed.length === 1);
  }));

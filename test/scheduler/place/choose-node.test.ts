import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRefusals } from "../../../src/scheduler/place/refusals.ts";
import { chooseNode, enoughNodes, type PlaceOptions } from "../../../src/scheduler/place/choose-node.ts";
import type { Snapshot } from "../../../src/scheduler/state/state.ts";
import type { SchedulerApp } from "../../../src/scheduler/types.ts";
import { app, report, snapshotOf } from "../sample-cluster.ts";

const options: PlaceOptions = { policy: "spread", now: 0, random: () => 0 };

function choose(wanted: SchedulerApp, snapshot: Snapshot, more: Partial<PlaceOptions> = {}): string {
  const decision = chooseNode(wanted, snapshot, { ...options, ...more });
  return "node" in decision ? decision.node : formatRefusals(decision.refusals);
}

test("chooseNode() reports every reason with its count and what is missing, as kube-scheduler does", () => {
  const snapshot = snapshotOf({ a: {}, b: {}, c: {}, d: { ready: false }, e: { ready: false } });
  for (const [node, cpuPCT] of [["a", "75"], ["b", "80"], ["c", "90"]] as const) {
    snapshot.place(app(`on-${node}`, { cpuPCT }), node);
  }
  assert.equal(
    choose(app("web", { cpuPCT: 40 }), snapshot),
    "0/5 nodes are available: 3 cpuPCT (need 40, at most 25 free), 2 not ready",
  );
});

test("each filter refuses with its own reason", () => {
  const tainted = { taints: [{ key: "gpu", value: "yes", effect: "NoSchedule" }] };
  const snapshot = snapshotOf({
    cordoned: { cordoned: true },
    tainted,
    pressed: { pressures: ["disk"] },
    plain: {},
  });
  snapshot.setNode("agentless", snapshot.node("plain")!.properties);
  snapshot.setNode("silent", snapshot.node("plain")!.properties);
  snapshot.setAgent("silent", "stale");
  snapshot.place(app("db", { ports: [{ port: 5432 }] }), "plain");
  assert.equal(
    choose(app("other", { ports: [{ port: 5432 }] }), snapshot),
    "0/6 nodes are available: 1 agent lost, 1 cordoned, 1 disk pressure, 1 host port 5432/TCP, 1 no agent, " +
      "1 untolerated taint {gpu: yes}",
  );
  const wants = { nodeSelector: { zone: "b" } };
  assert.match(choose(app("picky", wants), snapshot), /1 node selector/);
  const affinity = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "Exists" as const }] }],
      },
    },
  };
  assert.match(choose(app("picky", { affinity }), snapshot), /1 node affinity/);
});

test("a cluster without nodes is reported as such", () => {
  assert.equal(choose(app("web"), snapshotOf({})), "0/0 nodes are available: the cluster has no nodes");
});

test("the same port is free again for another protocol", () => {
  const snapshot = snapshotOf({ a: {} });
  snapshot.place(app("dns", { ports: [{ port: 53 }] }), "a");
  assert.equal(choose(app("dns-udp", { ports: [{ port: 53, protocol: "UDP" }] }), snapshot), "a");
});

test("tolerations admit apps to cordoned, unready and tainted nodes and to nodes under pressure", () => {
  const snapshot = snapshotOf({
    a: { cordoned: true, ready: false, pressures: ["memory"], taints: [{ key: "x", effect: "NoExecute" }] },
  });
  assert.equal(choose(app("daemon", { tolerations: [{ operator: "Exists" }] }), snapshot), "a");
});

test("taints that Kubernetes derives from conditions are ignored", () => {
  const taints = [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }];
  assert.equal(choose(app("web"), snapshotOf({ a: { taints } })), "a");
  assert.match(choose(app("web"), snapshotOf({ a: { taints, ready: false } })), /1 not ready/);
});

test("caps add up to at most 100, to the last thousandth", () => {
  const snapshot = snapshotOf({ a: {} });
  snapshot.place(app("one", { cpuPCT: "66.667", memPCT: "50" }), "a");
  assert.equal(choose(app("two", { cpuPCT: "33.333", memPCT: "50" }), snapshot), "a");
  assert.match(choose(app("three", { cpuPCT: "33.334" }), snapshot), /need 33.334, at most 33.333 free/);
  assert.match(
    choose(app("four", { memPCT: "50.001" }), snapshot),
    /memPCT \(need 50.001, at most 50 free\)/,
  );
});

test("the reserve stays free, and so does what the agent has promised to hidden apps", () => {
  const snapshot = snapshotOf({ a: {} });
  snapshot.setReport("a", report({ reservedCpu: 10_000, freeCpu: 60_000 }));
  assert.match(choose(app("big", { cpuPCT: 61 }), snapshot), /need 61, at most 60 free/);
  assert.equal(choose(app("fits", { cpuPCT: 60 }), snapshot), "a");
  // Bound since, and not yet known to the agent.
  snapshot.place(app("fits", { cpuPCT: 60 }), "a");
  assert.match(choose(app("more", { cpuPCT: 1 }), snapshot), /at most 0 free/);
});

test("apps without caps fit on a full node, and spread over several nodes", () => {
  const snapshot = snapshotOf({ a: {} });
  snapshot.place(app("full", { cpuPCT: 100, memPCT: 100 }), "a");
  assert.equal(choose(app("free"), snapshot), "a");
  const empty = snapshotOf({ a: {}, b: {} });
  empty.place(app("free-1"), "a");
  assert.equal(choose(app("free-2"), empty, { random: () => 0.99 }), "b");
});

test("spread chooses the emptier node, binpack the fuller one", () => {
  const snapshot = snapshotOf({ a: {}, b: {} });
  snapshot.place(app("there", { cpuPCT: 30, memPCT: 30 }), "a");
  assert.equal(choose(app("next", { cpuPCT: 10, memPCT: 10 }), snapshot), "b");
  assert.equal(choose(app("next", { cpuPCT: 10, memPCT: 10 }), snapshot, { policy: "binpack" }), "a");
});

test("of equally full nodes the one is chosen where CPU and memory stay in balance", () => {
  const snapshot = snapshotOf({ a: {}, b: {} });
  snapshot.place(app("cpu", { cpuPCT: 40 }), "a");
  snapshot.place(app("mem", { memPCT: 40 }), "b");
  assert.equal(choose(app("hungry", { cpuPCT: 20, memPCT: 1 }), snapshot, { random: () => 0.99 }), "b");
});

test("the measured load decides between equally allocated nodes, unless it is outdated", () => {
  const snapshot = snapshotOf({ a: {}, b: {} });
  snapshot.setReport("a", report({ cpu: 80_000, at: 0 }));
  snapshot.setReport("b", report({ cpu: 10_000, at: 0 }));
  const last = { random: () => 0.99 };
  assert.equal(choose(app("next"), snapshot, { ...last, now: 30_000 }), "b");
  assert.equal(
    choose(app("next"), snapshot, { ...last, now: 60_000 }),
    "a",
    "the reports are stale: nothing speaks against a",
  );
});

test("what was bound since a report counts as load", () => {
  const snapshot = snapshotOf({ a: {}, b: {} });
  snapshot.setReport("a", report({ cpu: 5000, mem: 5000 }));
  snapshot.setReport("b", report({ cpu: 20_000, mem: 20_000 }));
  const placed: string[] = [];
  for (let at = 0; at < 6; at++) {
    const next = app(`burst-${at}`, { cpuPCT: 5, memPCT: 5 });
    placed.push(choose(next, snapshot));
    snapshot.place(next, placed.at(-1)!);
  }
  assert.ok(placed.includes("a") && placed.includes("b"), `all of a burst followed one report: ${placed}`);
});

test("preferred affinity and PreferNoSchedule influence the choice without forcing it", () => {
  const snapshot = snapshotOf({
    a: { labels: { disk: "hdd" } },
    b: { labels: { disk: "ssd" }, taints: [{ key: "old", effect: "PreferNoSchedule" }] },
    c: { labels: { disk: "ssd" } },
  });
  const affinity = {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [{
        weight: 1,
        preference: { matchExpressions: [{ key: "disk", operator: "In" as const, values: ["ssd"] }] },
      }],
    },
  };
  assert.equal(choose(app("web", { affinity }), snapshot), "c");
  snapshot.removeNode("c");
  assert.equal(choose(app("web"), snapshot), "a");
  snapshot.removeNode("a");
  assert.equal(choose(app("web", { affinity }), snapshot), "b");
});

test("cached answers about a node are dropped when the node changes", () => {
  const snapshot = snapshotOf({ a: {} });
  const web = app("web", { nodeSelector: { zone: "b" } });
  assert.match(choose(web, snapshot), /node selector/);
  snapshot.setNode("a", { ...snapshot.node("a")!.properties, labels: { zone: "b" } });
  assert.equal(choose(web, snapshot), "a");
  snapshot.setAgent("a", "stale");
  assert.match(choose(web, snapshot), /agent lost/);
  snapshot.removeNode("a");
  snapshot.setAgent("a", "none");
  snapshot.setNode("b", { labels: {}, taints: [], ready: true, cordoned: false, pressures: [] });
  snapshot.setAgent("b", "fresh");
  assert.match(
    choose(web, snapshot),
    /1 node selector/,
    "a new node has the slot of the old one, not its decision",
  );
});

test("node filters run once per node for apps with the same rules", () => {
  let asked = 0;
  const labels = {
    get zone() {
      asked++;
      return "b";
    },
  };
  const snapshot = snapshotOf({ a: { labels } });
  asked = 0;
  for (let at = 0; at < 10; at++) choose(app(`app-${at}`, { nodeSelector: { zone: "b" } }), snapshot);
  assert.equal(asked, 1);
});

test("a node that reuses the index of a removed node does not get its cached answers", () => {
  const snapshot = snapshotOf({ a: { labels: { zone: "b" } }, b: {}, c: {} });
  const web = app("web", { nodeSelector: { zone: "b" } });
  assert.equal(choose(web, snapshot), "a");
  snapshot.removeNode("a");
  assert.equal(choose(web, snapshot), "0/2 nodes are available: 2 node selector");
});

test("in a large cluster not all nodes are scored for each app, but every node gets its turn", () => {
  assert.deepEqual([1, 100, 1000, 5000].map(enoughNodes), [1, 100, 118, 198]);
  const snapshot = snapshotOf(Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`n${at}`, {}])));
  const chosen = new Set<string>();
  let start = 0;
  for (let at = 0; at < 1000; at++) {
    const next = app(`app-${at}`, { cpuPCT: 60 });
    const decision = chooseNode(next, snapshot, { ...options, start });
    assert.ok("node" in decision);
    assert.ok(at > 500 || decision.examined < 500, `looked at ${decision.examined} nodes`);
    start = (start + decision.examined) % 1000;
    snapshot.place(next, decision.node);
    chosen.add(decision.node);
  }
  assert.equal(chosen.size, 1000);
});

test("the last free node of a large cluster is found", () => {
  const snapshot = snapshotOf(Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`n${at}`, {}])));
  for (let at = 0; at < 500; at++) if (at !== 7) snapshot.place(app(`on-${at}`, { cpuPCT: 100 }), `n${at}`);
  assert.equal(choose(app("last", { cpuPCT: 100 }), snapshot, { start: 300 }), "n7");
});

test("room on a nominated node is kept from apps of lower priority", () => {
  const snapshot = snapshotOf({ a: {}, b: {} });
  const vip = app("vip", { cpuPCT: 80, ports: [{ port: 80 }] }, { priority: 100 });
  snapshot.nominate(vip, "b");
  snapshot.place(app("filler", { cpuPCT: 90 }), "a");
  assert.match(choose(app("low", { cpuPCT: 30 }, { priority: 1 }), snapshot), /at most 20 free/);
  assert.match(
    choose(app("web", { ports: [{ port: 80 }], nodeSelector: {}, cpuPCT: 11 }), snapshot),
    /1 host port 80/,
  );
  assert.equal(choose(app("higher", { cpuPCT: 30 }, { priority: 200 }), snapshot), "b");
  assert.equal(choose(vip, snapshot), "b");
});

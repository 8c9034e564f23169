import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { NCAppSpec, TopologySpreadConstraint } from "../../../src/api/types.ts";
import { chooseNode, formatRefusals } from "../../../src/scheduler/place/place.ts";
import { readApp, type Snapshot } from "../../../src/scheduler/state/state.ts";
import type { NodeProperties, Policy, SchedulerApp } from "../../../src/scheduler/types.ts";
import { mostly, runs } from "../../properties.ts";
import { seededRandom } from "../../random.ts";
import { ncapp, report, snapshotOf } from "../sample-cluster.ts";

const zone = "topology.kubernetes.io/zone";
const host = "kubernetes.io/hostname";

/** Four nodes in two zones: a1, a2, b1, b2. */
function fourNodes(given: Partial<NodeProperties> = {}): Snapshot {
  const labels = (name: string) => ({ [host]: name, [zone]: name[0]! });
  return snapshotOf(
    Object.fromEntries(["a1", "a2", "b1", "b2"].map((name) => [name, { labels: labels(name), ...given }])),
  );
}

function web(
  name: string,
  spec: NCAppSpec = {},
  metadata: object = { labels: { app: "web" } },
): SchedulerApp {
  return readApp(ncapp(name, spec, undefined, metadata));
}

function ofSet(name: string, spec?: NCAppSpec): SchedulerApp {
  const ownerReferences = [{
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCAppSet",
    name: "web",
    uid: "set",
  }];
  return web(name, spec, { ownerReferences });
}

/** Places the apps one by one, and returns how many each node has, or why one was refused. */
function placeAll(snapshot: Snapshot, apps: SchedulerApp[], policy: Policy = "spread"): string {
  const random = seededRandom(1);
  for (const app of apps) {
    const choice = chooseNode(app, snapshot, { policy, now: 0, random });
    if (!("node" in choice)) return formatRefusals(choice.refusals);
    snapshot.place(app, choice.node);
  }
  return snapshot.nodes.map(({ apps }) => apps.size).join("/");
}

const many = (count: number, make: (name: string) => SchedulerApp) =>
  Array.from({ length: count }, (_, at) => make(`web-${at}`));

test("apps of a set without caps are spread over nodes, whatever the measured load is", () => {
  const snapshot = fourNodes();
  snapshot.setReport("a1", report({ cpu: 90_000, mem: 60_000 }));
  snapshot.setReport("b1", report({ cpu: 0 }));
  assert.equal(placeAll(snapshot, many(8, ofSet)), "2/2/2/2");
  assert.equal(placeAll(snapshot, Array.from({ length: 32 }, (_, at) => ofSet(`more-${at}`))), "10/10/10/10");
});

test("apps of a set with caps use all nodes", () => {
  assert.equal(placeAll(fourNodes(), many(4, (name) => ofSet(name, { cpuPCT: "5" }))), "1/1/1/1");
});

test("apps with the same name label in a namespace are spread, those of another are not counted", () => {
  const labels = { "app.kubernetes.io/name": "shop" };
  const snapshot = fourNodes();
  snapshot.place(web("other", {}, { labels, namespace: "elsewhere" }), "a1");
  snapshot.place(web("same", { cpuPCT: "1" }, { labels }), "b2");
  const next = chooseNode(web("next", {}, { labels }), snapshot, {
    policy: "spread",
    now: 0,
    random: () => 0,
  });
  assert.ok("node" in next && next.node[0] === "a");
  assert.equal(placeAll(fourNodes(), many(8, (name) => web(name, {}, { labels }))), "2/2/2/2");
});

test("of nodes with as few apps, the one in the zone with the fewest is chosen", () => {
  const snapshot = fourNodes();
  snapshot.setReport("b1", report({ cpu: 90_000 }));
  snapshot.setReport("b2", report({ cpu: 90_000 }));
  snapshot.place(ofSet("web-0"), "a1");
  const next = chooseNode(ofSet("web-1"), snapshot, { policy: "spread", now: 0, random: () => 0 });
  assert.ok("node" in next && next.node[0] === "b");
});

test("a preferred node gets a few apps more than others, and not all", () => {
  const affinity = {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [{
        weight: 100,
        preference: { matchExpressions: [{ key: host, operator: "In" as const, values: ["a1"] }] },
      }],
    },
  };
  const [first = 0, ...others] = placeAll(fourNodes(), many(8, (name) => ofSet(name, { affinity })))
    .split("/").map(Number);
  assert.ok(first > 2 && first < 6, `${first}`);
  assert.ok(others.every((count) => count > 0));
});

test("binpack does not spread by itself", () => {
  const apps = many(4, (name) => ofSet(name, { cpuPCT: "5", memPCT: "5" }));
  assert.equal(placeAll(fourNodes(), apps, "binpack").split("/").filter((count) => count === "0").length, 3);
});

const constraint = (given: Partial<TopologySpreadConstraint> = {}): NCAppSpec => ({
  topologySpreadConstraints: [{
    maxSkew: 1,
    topologyKey: zone,
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels: { app: "web" } },
    ...given,
  }],
});

test("DoNotSchedule refuses a node beyond maxSkew, and says why", () => {
  const snapshot = fourNodes();
  snapshot.place(web("full", { cpuPCT: "100" }), "b1");
  snapshot.place(web("other", { cpuPCT: "100" }, { labels: { app: "other" } }), "b2");
  snapshot.setNode("c1", { ...snapshot.node("a1")!.properties, labels: {} });
  snapshot.setAgent("c1", "fresh");
  const capped = (name: string) => web(name, { ...constraint(), cpuPCT: "1" });
  assert.equal(
    placeAll(snapshot, many(3, capped)),
    "0/5 nodes are available: 2 cpuPCT (need 1, at most 0 free), " +
      `2 topology spread over ${zone} (maxSkew 1, the least is 1), 1 topology spread: no label ${zone}`,
  );
});

test("the domain of a node that takes no new apps does not count as the least", () => {
  const snapshot = fourNodes();
  for (const name of ["b1", "b2"]) {
    snapshot.setNode(name, { ...snapshot.node(name)!.properties, cordoned: true });
  }
  assert.match(placeAll(snapshot, many(8, (name) => web(name, constraint()))), /^\d\/\d\/0\/0$/);
});

test("ScheduleAnyway prefers domains with fewer apps, and refuses none", () => {
  const snapshot = fourNodes();
  snapshot.place(web("b", { cpuPCT: "100" }), "b2");
  const rules = constraint({ whenUnsatisfiable: "ScheduleAnyway" });
  assert.match(
    placeAll(snapshot, many(7, (name) => web(name, { ...rules, cpuPCT: "1" }))),
    /^[0-4]\/[0-4]\/3\/1$/,
  );
  const busy = fourNodes({ cordoned: false });
  for (const name of ["b1", "b2"]) busy.place(web(name, { cpuPCT: "100" }, {}), name);
  assert.match(
    placeAll(busy, many(5, (name) => web(name, { ...rules, cpuPCT: "1" }))),
    /^[1-4]\/[1-4]\/1\/1$/,
  );
});

const apart = (topologyKey: string, app: string): NCAppSpec => ({
  affinity: {
    appAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{
        topologyKey,
        labelSelector: { matchLabels: { app } },
      }],
    },
  },
});

test("appAntiAffinity keeps apps apart, in both directions", () => {
  const refusal = `0/4 nodes are available: 4 anti-affinity over ${host}`;
  assert.equal(placeAll(fourNodes(), many(5, (name) => web(name, apart(host, "web")))), refusal);
  const snapshot = fourNodes();
  snapshot.place(web("db", apart(zone, "web"), { labels: { app: "db" } }), "a2");
  assert.match(placeAll(snapshot, many(8, web)), /^0\/1\/\d\/\d$/);
  snapshot.place(web("db-2", apart(zone, "web"), { labels: { app: "db" } }), "b1");
  assert.equal(
    placeAll(snapshot, [web("one-more")]),
    `0/4 nodes are available: 4 anti-affinity of an app there over ${zone}`,
  );
});

test("anti-affinity of an app in another namespace, or of one that has left, keeps none away", () => {
  const snapshot = snapshotOf({ only: { labels: { [host]: "only" } } });
  snapshot.place(web("foreign", apart(host, "web"), { namespace: "elsewhere" }), "only");
  snapshot.place(web("gone", apart(host, "web"), {}), "only");
  assert.match(placeAll(snapshot, [web("a")]), /^0\/1/);
  snapshot.remove("default/gone");
  assert.equal(placeAll(snapshot, [web("a")]), "2");
});

test("preferred appAntiAffinity chooses another domain while there is one", () => {
  const affinity = {
    appAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [{
        weight: 100,
        appAffinityTerm: { topologyKey: zone, labelSelector: { matchLabels: { app: "db" } } },
      }],
    },
  };
  const snapshot = fourNodes();
  snapshot.place(web("db", {}, { labels: { app: "db" } }), "a1");
  assert.match(placeAll(snapshot, many(4, (name) => web(name, { affinity, cpuPCT: "1" }))), /^1\/0\/2\/2$/);
});

test("a Node that moves to another zone takes the counts of its apps along", () => {
  const snapshot = fourNodes();
  placeAll(snapshot, many(2, (name) => web(name, constraint())));
  const [here] = snapshot.nodes.filter(({ name, apps }) => name[0] === "a" && apps.size > 0);
  const { properties } = here!;
  snapshot.setNode(here!.name, { ...properties, labels: { ...properties.labels, [zone]: "b" } });
  const next = chooseNode(web("next", constraint()), snapshot, { policy: "spread", now: 0, random: () => 0 });
  assert.ok("node" in next && snapshot.node(next.node)!.properties.labels[zone] === "a");
});

interface Step {
  app: { tier: string; maxSkew: number; topologyKey: string; onlySSD: boolean };
  /** Then the oldest app leaves, or a node is cordoned or not. */
  then: "nothing" | "leave" | "cordon";
  which: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  app: fc.record({
    tier: fc.constantFrom("web", "db"),
    maxSkew: mostly(1, 30, fc.integer({ min: 2, max: 3 })),
    topologyKey: fc.constantFrom(zone, host),
    onlySSD: mostly(false, 20, fc.constant(true)),
  }),
  then: fc.constantFrom("nothing", "nothing", "leave", "cordon"),
  which: fc.nat(11),
});

test("a bind never exceeds maxSkew, and an app is refused only if every node would exceed it", () => {
  const world = fc.record({
    nodes: fc.array(fc.record({ zone: fc.constantFrom("a", "b", "c", undefined), ssd: fc.boolean() }), {
      minLength: 1,
      maxLength: 12,
    }),
    steps: fc.array(step, { maxLength: 60, size: "max" }),
  });
  fc.assert(
    fc.property(world, ({ nodes, steps }) => {
      const snapshot = snapshotOf(Object.fromEntries(
        nodes.map((node, at) => [`n${at}`, {
          labels: {
            [host]: `n${at}`,
            ...(node.zone ? { [zone]: node.zone } : {}),
            ...(node.ssd ? { disk: "ssd" } : {}),
          },
        }]),
      ));
      const placed: SchedulerApp[] = [];
      for (const [at, { app: { tier, maxSkew, topologyKey, onlySSD }, then, which }] of steps.entries()) {
        const rules = constraint({ maxSkew, topologyKey, labelSelector: { matchLabels: { tier } } });
        const spec = { ...rules, ...(onlySSD ? { nodeSelector: { disk: "ssd" } } : {}) };
        const app = web(`app-${at}`, spec, { labels: { tier } });
        // Counted from scratch.
        const eligible = snapshot.nodes.filter(({ properties: { labels, cordoned } }) =>
          !cordoned && labels[topologyKey] !== undefined && (!onlySSD || labels.disk === "ssd")
        );
        const countIn = (domain: string) =>
          snapshot.nodes.filter(({ properties }) => properties.labels[topologyKey] === domain)
            .flatMap(({ apps }) => [...apps.values()]).filter(({ labels }) => labels.tier === tier).length;
        const domains = eligible.map(({ properties }) => properties.labels[topologyKey]!);
        const least = Math.min(...domains.map(countIn));
        const choice = chooseNode(app, snapshot, { policy: "spread", now: 0, random: () => 0.5 });
        if ("node" in choice) {
          const domain = snapshot.node(choice.node)!.properties.labels[topologyKey]!;
          assert.ok(domains.includes(domain));
          assert.ok(countIn(domain) + 1 - least <= maxSkew);
          snapshot.place(app, choice.node);
          placed.push(app);
        } else assert.ok(domains.every((domain) => countIn(domain) + 1 - least > maxSkew));
        if (then === "leave" && placed.length > 0) snapshot.remove(placed.shift()!.key);
        const node = snapshot.nodes[which % snapshot.nodes.length]!;
        if (then === "cordon") {
          snapshot.setNode(node.name, { ...node.properties, cordoned: !node.properties.cordoned });
        }
      }
    }),
    runs(300),
  );
});

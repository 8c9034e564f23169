/** What agents have promised to apps that the API server does not show, such as those of manifests: nobody else gets it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppStatus } from "../../src/api/types.ts";
import { placeApp } from "../../src/scheduler/place/place.ts";
import { ncapp } from "./sample-cluster.ts";
import { lease, node, priorityClass } from "./objects.ts";
import { createTestCluster } from "./test-cluster.ts";

/** As its agent writes it: about the spec that is there now. */
const running: NCAppStatus = { phase: "Running", observedGeneration: 1 };

/** A cluster in which `a` says what is free ten seconds after what it said last. */
function createScene() {
  const scene = createTestCluster(["a"]);
  const { cluster, clock, beat } = scene;
  return {
    ...scene,
    say: (free: number) => {
      clock.now += 10_000;
      beat("a", { free });
    },
    free: () => cluster.snapshot.node("a")!.freeCpu / 1000,
  };
}

const caps = (percent: number) => ({ cpuPCT: percent, memPCT: percent });

for (const order of [["apps", "leases"], ["leases", "apps"]]) {
  test(`running apps are counted once, and none is ended needlessly, if a start lists ${order.join(" before ")}`, () => {
    const { cluster, clock } = createTestCluster();
    cluster.apps.applyPriorityClass(priorityClass("gold", 1000));
    cluster.applyNode(node("a"));
    const lists: Record<string, () => void> = {
      leases: () => cluster.liveness.replaceLeases([lease("a", clock.now, { free: 40 })]),
      apps: () =>
        cluster.replaceApps([
          ncapp("one", { nodeName: "a", ...caps(30) }, running),
          ncapp("two", { nodeName: "a", ...caps(30) }, running),
          ncapp("waits", { ...caps(30), priorityClassName: "gold" }),
        ], "1"),
    };
    for (const name of order) lists[name]!();
    assert.equal(cluster.snapshot.node("a")?.freeCpu, 40_000);
    const decision = placeApp(cluster.apps.get("default/waits")!, cluster, {
      policy: "spread",
      random: () => 0,
      now: clock.now,
    });
    assert.equal(decision.kind, "bind", JSON.stringify(decision));
  });
}

test("a report from before a bind does not count the new app as hidden", () => {
  const { cluster, apply, say, free } = createScene();
  say(60);
  apply("web", caps(30));
  cluster.apps.assume(cluster.apps.get("default/web")!, "a");
  assert.equal(free(), 30);
  say(60);
  assert.equal(free(), 30, "the agent has not seen the app yet");
  apply("web", { nodeName: "a", ...caps(30) });
  say(30);
  assert.equal(free(), 30, "it has now");
  apply("web", { nodeName: "a", ...caps(30) }, running);
  say(30);
  assert.equal(free(), 30);
});

test("the share of hidden apps is free after they are gone, as soon as that is certain", () => {
  const { apply, say, free } = createScene();
  say(60);
  apply("web", { nodeName: "a", ...caps(30) });
  say(70);
  assert.equal(free(), 40, "either of the two may be what the agent counts");
  apply("web", { nodeName: "a", ...caps(30) }, running);
  say(70);
  assert.equal(free(), 70);
});

test("a local app is not counted in addition to its mirror", () => {
  const { cluster, say, free } = createScene();
  say(60);
  const annotations = { "app.example.com/config.mirror": "local" };
  const status = { phase: "Running", observedGeneration: 7 } as const;
  cluster.apps.apply(ncapp("local", { nodeName: "a", ...caps(40) }, status, { annotations }));
  say(60);
  assert.equal(free(), 60);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createNodeLossHandler, createNodePresences } from "../../../src/scheduler/node-loss/node-loss.ts";
import { waitFor } from "../../wait-for.ts";

import { withApps } from "../write/write-scene.ts";

test("a lost node is reported once, and its apps are marked and then unbound", async () => {
  await withApps(
    { web: { nodeName: "a" } },
    async ({ cluster, clock, beat, writer, evictor, recorder, log, stored, told }) => {
      const handle = createNodeLossHandler({
        cluster,
        writer,
        evictor,
        recorder,
        log,
        defaultTolerationMs: 60_000,
        now: () => clock.now,
      });
      const pass = (seconds: number) => {
        clock.now += seconds * 1000;
        beat("b");
        handle(cluster.liveness.check());
      };
      pass(41);
      pass(1);
      await waitFor("it is Unknown", () => stored("web")?.status?.phase === "Unknown");
      assert.deepEqual(told, ["web NodeLost"]);
      pass(60);
      await waitFor("it is unbound", () => stored("web")?.spec.nodeName === undefined);
    },
  );
});

test("paused evictions are reported once, on the scheduler's namespace and on the nodes", async () => {
  await withApps({}, async ({ cluster, clock, writer, evictor, recorder, log, told }) => {
    const handle = createNodeLossHandler({ cluster, writer, evictor, recorder, log, now: () => clock.now });
    clock.now += 41_000;
    for (let round = 0; round < 3; round++) handle(cluster.liveness.check());
    assert.deepEqual(told.sort(), ["a EvictionsPaused", "b EvictionsPaused", "nckubelet EvictionsPaused"]);
  });
});

test("a node that was lost counts as present while the Leases cannot be watched", async () => {
  await withApps(
    { web: { nodeName: "a" } },
    async ({ cluster, clock, beat, writer, evictor, recorder, log }) => {
      const presences = createNodePresences({ observed: () => clock.now });
      const handle = createNodeLossHandler({
        cluster,
        writer,
        evictor,
        recorder,
        log,
        presences,
        now: () => clock.now,
      });
      const presence = () => presences.of(cluster.apps.get("default/web")!, "a");
      clock.now += 41_000;
      beat("b");
      handle(cluster.liveness.check());
      assert.equal(presence(), "silent");
      handle(undefined);
      assert.equal(presence(), "present");
      handle(cluster.liveness.check());
      assert.equal(presence(), "silent");
    },
  );
});

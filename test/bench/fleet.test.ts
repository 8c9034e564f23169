import assert from "node:assert/strict";
import { test } from "node:test";
import { followApps } from "../../bench/fleet/changes.ts";
import type { Load } from "../../bench/fleet/load.ts";
import { describeFleets, type Measured } from "../../bench/fleet/table.ts";
import { accept, isWatch, json, line, listOf, ncapp, withClient } from "../kube/fake-server.ts";

const limit = { timeout: 30_000 };

test("a rate that is not sustained has no percentiles, and the figures say what did not arrive", () => {
  const load: Load = {
    seconds: 10,
    requests: { "update leases": 100 },
    apiServer: 2,
    etcd: 1,
    agents: 1,
    benchmark: 0.1,
    machine: 5,
  };
  const busy = (perSecond: number, backlog: number) => ({
    perSecond,
    load: { ...load, apiServer: 4 },
    changes: { times: [10, 20], count: 4, refused: 1, backlog },
    writes: { "patch ncapps/status": 4 },
  });
  const fleet: Measured = {
    agents: 100,
    apps: 2000,
    isSelected: true,
    settled: { quiet: true, seconds: 24 },
    without: { ...load, apiServer: 1 },
    idle: load,
    busy: [busy(10, 0), busy(50, 3)],
  };
  const figures = describeFleets([fleet, { ...fleet, agents: 500, busy: [] }], { patienceMs: 10_000 });
  const find = (text: string) => figures.filter(({ figure }) => figure.includes(text));
  assert.deepEqual(find("p99").map(({ figure, ours }) => [figure, ours]), [
    ["100 agents, 10 changes/s: apply → status Running, p99", 20],
  ]);
  const [, arrived] = find("statuses that arrived within 10 s");
  assert.equal(arrived?.ours, 50);
  assert.match(arrived?.note ?? "", /2 of 4; 3 had not .*does not sustain/);
  assert.equal(Math.round(find("CPU time of the API server per change")[0]?.ours ?? 0), 667);
  assert.deepEqual(find("growth").map(({ ours }) => ours), [0.2]);
});

test(
  "a change arrives with the status of the new run, even if that is seen before the answer",
  limit,
  async () => {
    const running = (generation: number, startTime: string) => ({
      ...ncapp("a", "node-a", { uid: "1", generation, resourceVersion: String(10 + generation) }),
      status: { phase: "Running" as const, observedGeneration: generation, startTime },
    });
    const watch = Promise.withResolvers<(text: string) => void>();
    await withClient(async ({ method, query }, response) => {
      if (isWatch({ query })) {
        accept(response);
        return watch.resolve((text) => response.write(text));
      }
      if (method !== "PATCH") return json(response, listOf([running(1, "2026-01-01T00:00:00Z")]));
      const write = await watch.promise;
      write(line("MODIFIED", running(2, "2026-01-01T00:00:09Z")));
      json(response, running(2, "2026-01-01T00:00:00Z"));
    }, async (client) => {
      await using changer = await followApps(client);
      const { times, refused } = await changer.change({ names: ["a"], perSecond: 1000, patienceMs: 20_000 });
      assert.deepEqual([times.length, refused], [1, 0]);
    });
  },
);

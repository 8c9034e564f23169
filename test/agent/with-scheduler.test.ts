import assert from "node:assert/strict";
import { test } from "node:test";
import { runWithScheduler, type SchedulerParts } from "../../src/agent/with-scheduler.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createTestLog } from "../report/test-log.ts";

/** Runs it with parts that do as they are told, until they say that it is enough. */
async function run(parts: (enough: () => void) => SchedulerParts, now = () => 0) {
  const log = createTestLog();
  const stopping = new AbortController();
  const loaded = parts(() => stopping.abort());
  let [waits, resets] = [0, 0];
  await runWithScheduler({
    access: await loadAccess({ server: "http://127.0.0.1:1" }),
    nodeName: "edge",
    version: "test",
    log,
    load: async () => loaded,
    backoff: () => ({ next: () => ++waits, reset: () => void resets++ }),
    now,
  }, stopping.signal);
  return { lines: log.lines, resets };
}

test("a scheduler that fails is logged and restarted, without effect on the agent", async () => {
  const identities: string[] = [];
  const { lines } = await run((enough) => ({
    missingRights: async () => [],
    runScheduler: async ({ identity, leaderElect, schedulerName }) => {
      identities.push(identity);
      assert.deepEqual([leaderElect, schedulerName], [true, "nc-scheduler"]);
      if (identities.length === 3) return enough();
      throw new Error("out of order");
    },
  }));
  assert.equal(
    new Set(identities).size,
    3,
    "each has a name of its own, so that none takes itself for the last one",
  );
  assert.ok(identities.every((identity) => identity.startsWith("edge_")));
  const broken = "error the scheduler in this agent failed; restarting it";
  assert.equal(lines.filter((line) => line === broken).length, 2);
});

test("an agent without permission to schedule logs one line, and schedules once it may", async () => {
  const answers = [["patch ncapps", "list/watch nodes"], ["patch ncapps", "list/watch nodes"], []];
  const { lines } = await run((enough) => ({
    missingRights: async () => answers.shift() ?? [],
    runScheduler: async () => {
      assert.equal(answers.length, 0, "not before it may");
      enough();
    },
  }));
  assert.deepEqual(lines.slice(0, -1), [
    "warn --with-scheduler: the API server does not let this agent's user patch ncapps, list/watch nodes: " +
    "bind the roles nckubelet-scheduler to it (docs/scheduler.md); until then this agent schedules nothing",
  ]);
  assert.equal(lines.at(-1), "info starting the scheduler in this agent");
});

test("the scheduler waits for an API server that does not answer", async () => {
  let asked = 0;
  const { lines } = await run((enough) => ({
    missingRights: async () => {
      if (++asked < 4) throw new Error("connection refused");
      return [];
    },
    runScheduler: async () => enough(),
  }));
  assert.equal(asked, 4);
  assert.equal(
    lines[0],
    "warn the scheduler in this agent is waiting for the API server: connection refused",
  );
  assert.equal(lines.length, 2);
});

test("the delay before a restart grows, unless the scheduler had run for long", async () => {
  let [time, runs] = [0, 0];
  const { resets } = await run((enough) => ({
    missingRights: async () => [],
    runScheduler: async () => {
      time += ++runs === 2 ? 600_000 : 1000;
      if (runs === 3) return enough();
      throw new Error("out of order");
    },
  }), () => time);
  assert.equal(resets, 1);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ControllerParts, runWithController } from "../../src/agent/with-controller.ts";
import { type ControllerName, usualControllers } from "../../src/controller/controller.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createTestLog } from "../report/test-log.ts";

type Told = Pick<ControllerParts, "missingRights" | "runControllers">;

/** Runs it with parts that do as they are told, until they say that it is enough. */
async function run(parts: (enough: () => void) => Told, now = () => 0, controllers?: "all" | "scheduler") {
  const log = createTestLog();
  const stopping = new AbortController();
  const loaded = parts(() => stopping.abort());
  let [waits, resets] = [0, 0];
  const created: string[][] = [];
  const createControllers = async (names: readonly ControllerName[]) => {
    created.push([...names]);
    return [];
  };
  await runWithController({
    access: await loadAccess({ server: "http://127.0.0.1:1" }),
    nodeName: "edge",
    version: "test",
    log,
    controllers,
    load: async () => ({ usualControllers, createControllers, rightsOf: () => [], ...loaded }),
    backoff: () => ({ next: () => ++waits, reset: () => void resets++ }),
    now,
  }, stopping.signal);
  return { lines: log.lines, resets, created };
}

test("a controller that fails is logged and restarted, without effect on the agent", async () => {
  const identities: string[] = [];
  const { lines } = await run((enough) => ({
    missingRights: async () => [],
    runControllers: async (_, { identity, leaderElect, schedulerName }) => {
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
  const broken = "error the controller in this agent failed; restarting it";
  assert.equal(lines.filter((line) => line === broken).length, 2);
});

test("an agent without the permissions of its controllers logs one line, and runs them once it has them", async () => {
  const answers = [["patch ncapps", "list/watch nodes"], ["patch ncapps", "list/watch nodes"], []];
  const { lines } = await run((enough) => ({
    missingRights: async () => answers.shift() ?? [],
    runControllers: async () => {
      assert.equal(answers.length, 0, "not before it may");
      enough();
    },
  }));
  assert.deepEqual(lines.slice(0, -1), [
    "warn --with-controller: the API server does not let this agent's user patch ncapps, list/watch nodes: " +
    "bind the roles nckubelet-scheduler and nckubelet-sets to it, and take it out of the groups of agents, which the admission policies " +
    "restrict to their own node (docs/scheduler.md); until then this agent runs no controller",
  ]);
  assert.equal(lines.at(-1), "info starting the controller in this agent");
});

test("the controller waits for an API server that does not answer", async () => {
  let asked = 0;
  const { lines } = await run((enough) => ({
    missingRights: async () => {
      if (++asked < 4) throw new Error("connection refused");
      return [];
    },
    runControllers: async () => enough(),
  }));
  assert.equal(asked, 4);
  assert.equal(
    lines[0],
    "warn the controller in this agent is waiting for the API server: connection refused",
  );
  assert.equal(lines.length, 2);
});

test("the delay before a restart grows, unless the controller had run for long", async () => {
  let [time, runs] = [0, 0];
  const { resets } = await run((enough) => ({
    missingRights: async () => [],
    runControllers: async () => {
      time += ++runs === 2 ? 600_000 : 1000;
      if (runs === 3) return enough();
      throw new Error("out of order");
    },
  }), () => time);
  assert.equal(resets, 1);
});

test("an agent runs all controllers but the one that approves certificates, or only the scheduler", async () => {
  const created = async (controllers?: "all" | "scheduler") =>
    (await run(
      (enough) => ({ missingRights: async () => [], runControllers: async () => enough() }),
      () => 0,
      controllers,
    ))
      .created;
  assert.deepEqual(await created("all"), [["scheduler", "sets"]]);
  assert.deepEqual(await created("scheduler"), [["scheduler"]]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createPriorities } from "../../../src/agent/node/priorities.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { silentLogger } from "../../../src/lib/log.ts";

const minute = 60_000;

const setUp = () => {
  const world = { now: 0, asked: 0, classes: [{ name: "high", value: 1000 }], broken: false };
  const request = async () => {
    world.asked++;
    if (world.broken) throw new Error("no answer");
    const items = world.classes.map(({ name, value }) => ({
      metadata: { name, uid: `uid-of-${name}`, resourceVersion: "1" },
      value,
    }));
    return {
      kind: "PriorityClassList",
      apiVersion: "scheduling.k8s.io/v1",
      metadata: { resourceVersion: "1" },
      items,
    };
  };
  const access = { server: new URL("https://server.test") };
  const client = { request, access } as unknown as KubeClient;
  const priorities = createPriorities({ client, log: silentLogger, now: () => world.now });
  return { world, priorities };
};

test("priorities are those of the API server, read every five minutes", async () => {
  const { world, priorities } = setUp();
  assert.equal(priorities.of("high"), 0);
  await priorities.refresh(["high", undefined]);
  assert.equal(priorities.of("high"), 1000);
  world.classes = [{ name: "high", value: 2000 }];
  world.now += 4 * minute;
  await priorities.refresh(["high"]);
  assert.deepEqual([priorities.of("high"), world.asked], [1000, 1]);
  world.now += minute;
  await priorities.refresh(["high"]);
  assert.deepEqual([priorities.of("high"), world.asked], [2000, 2]);
});

test("a class that is not known is looked for once a minute", async () => {
  const { world, priorities } = setUp();
  await priorities.refresh(["new"]);
  await priorities.refresh(["new"]);
  assert.equal(world.asked, 1);
  world.classes.push({ name: "new", value: 7 });
  world.now += minute;
  await priorities.refresh(["new"]);
  assert.equal(priorities.of("new"), 7);
});

test("what was read counts while the API server is away, and it is asked once a minute then", async () => {
  const { world, priorities } = setUp();
  await priorities.refresh([]);
  world.broken = true;
  for (let round = 0; round < 60; round++) {
    world.now += 10_000;
    await priorities.refresh([]);
  }
  assert.deepEqual([priorities.of("high"), world.asked], [1000, 7]);
});

test("without an API server the classes of the system are known", async () => {
  const priorities = createPriorities({ log: silentLogger });
  await priorities.refresh(["high"]);
  assert.equal(priorities.of("system-node-critical"), 2_000_001_000);
  assert.equal(priorities.of("high"), 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemNamespace } from "../../src/api/names.ts";
import { leadTogether } from "../../src/controller/elect.ts";
import { renewed } from "../../src/kube/lease.ts";
import { leases, resourcePath } from "../../src/kube/resources.ts";
import { FakeApi } from "../kube/fake-api.ts";
import { createTestLog } from "../report/test-log.ts";
import { waitFor } from "../wait-for.ts";
import { testController } from "./test-controller.ts";

/** Long enough that no deadline passes by itself, even on a busy machine. */
const times = { leaseSeconds: 120, renewDeadlineMs: 90_000, retryMs: 10 };

/** A process with a scheduler and sets, or with some of them. */
function startProcess(api: FakeApi, identity: string, names = ["scheduler", "sets"], given = times) {
  const stopping = new AbortController();
  const log = createTestLog();
  const elected = names.map((name) => ({ controller: testController(name), lease: `${name}-lease` }));
  const options = { namespace: systemNamespace, identity, log, ...given };
  const changes: boolean[] = [];
  const done = leadTogether(
    api.client,
    elected,
    options,
    stopping.signal,
    (leading) => void changes.push(leading),
  );
  done.catch(() => {});
  return {
    log,
    done,
    changes,
    of: (name: string) => elected.find(({ controller }) => controller.name === name)!.controller,
    working: () => elected.map(({ controller }) => controller.isWorking()),
    async stop() {
      stopping.abort();
      await done;
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await done.catch(() => {});
    },
  };
}

const holder = (api: FakeApi, name: string) =>
  api.get(resourcePath(leases, { namespace: systemNamespace, name: `${name}-lease` }))?.spec?.holderIdentity;

const held = (api: FakeApi, name: string, by: string, seconds: number) =>
  api.add(
    leases,
    renewed(undefined, { namespace: systemNamespace, name: `${name}-lease`, holder: by, seconds }, 0),
  );

test("of two processes one leads with all of its controllers, and the other takes over all of them", async () => {
  const api = new FakeApi();
  await using one = startProcess(api, "one");
  await waitFor("one works", () => one.working().every(Boolean));
  await using two = startProcess(api, "two");
  await waitFor("two stands by", () => two.log.lines.includes("info standing by"));
  assert.deepEqual(two.working(), [false, false]);
  await one.stop();
  assert.deepEqual(one.changes, [true, false]);
  await waitFor("two works", () => two.working().every(Boolean));
  assert.deepEqual([holder(api, "scheduler"), holder(api, "sets")], ["two", "two"]);
  await two.stop();
  assert.deepEqual([holder(api, "scheduler"), holder(api, "sets")], [undefined, undefined]);
});

test("a controller never works in two processes, whichever controllers they have", async () => {
  const api = new FakeApi();
  await using alone = startProcess(api, "alone", ["sets"]);
  await waitFor("the sets of one process work", () => alone.working()[0]);
  await using both = startProcess(api, "both");
  await waitFor("the other works without sets", () => both.of("scheduler").isWorking());
  await waitFor(
    "and says whom it waits for",
    () => both.log.lines.filter((line) => line === "info standing by").length === 1,
  );
  assert.equal(both.of("sets").isWorking(), false);
  await alone.stop();
  await waitFor("then it works with sets, too", () => both.working().every(Boolean));
  await both.stop();
});

test("the other Leases of a dead leader are taken as soon as the first has expired", async () => {
  const api = new FakeApi();
  held(api, "scheduler", "dead", 1);
  // This one would last for an hour.
  held(api, "sets", "dead", 3600);
  await using heir = startProcess(api, "heir");
  await waitFor("it works with all", () => heir.working().every(Boolean));
  await heir.stop();
});

test("a Lease of somebody else than the dead leader is respected", async () => {
  const api = new FakeApi();
  held(api, "scheduler", "dead", 1);
  held(api, "sets", "alive", 3600);
  await using heir = startProcess(api, "heir");
  await waitFor("it waits for the Lease", () =>
    heir.of("scheduler").isWorking() &&
    heir.log.lines.filter((line) => line === "info standing by").length === 2);
  assert.equal(heir.of("sets").isWorking(), false);
  await heir.stop();
});

test("a controller that fails ends the others, and both Leases are free when it is reported", async () => {
  const api = new FakeApi();
  await using one = startProcess(api, "one");
  await waitFor("it works", () => one.working().every(Boolean));
  const { isLeader } = one.of("scheduler").terms[0]!;
  assert.equal(isLeader(), true);
  one.of("sets").fail(new Error("out of order"));
  await assert.rejects(one.done, /out of order/);
  assert.equal(isLeader(), false);
  assert.deepEqual(one.working(), [false, false]);
  assert.deepEqual([holder(api, "scheduler"), holder(api, "sets")], [undefined, undefined]);
});

test("a controller that ends while it leads counts as failed", async () => {
  const api = new FakeApi();
  const controller = testController("lazy", { lead: async () => {} });
  const options = { namespace: systemNamespace, identity: "one", log: createTestLog(), ...times };
  await assert.rejects(
    leadTogether(api.client, [{ controller, lease: "lazy" }], options, new AbortController().signal),
    /the controller lazy ended while it was leading/,
  );
});

test("sets may not write any more once the first Lease may be lost, although their own is renewed", async () => {
  const api = new FakeApi();
  const clock = { moved: 0 };
  const now = () => Date.now() + clock.moved;
  await using one = startProcess(api, "one", ["scheduler", "sets"], { ...times, now } as typeof times);
  await waitFor("it works", () => one.working().every(Boolean));
  const { isLeader } = one.of("sets").terms[0]!;
  assert.equal(isLeader(), true);
  // Renewals of the first Lease hang, those of the other succeed.
  const hanging = Promise.withResolvers<void>();
  let [stuck, renewals] = [false, 0];
  api.intercept = ({ path, method }) => {
    if (method !== "PUT") return undefined;
    if (path.includes("/sets-lease")) return void renewals++;
    stuck = true;
    return hanging.promise;
  };
  await waitFor("a renewal hangs", () => stuck);
  clock.moved = 91_000;
  const before = renewals;
  await waitFor("the other Lease is renewed", () => renewals >= before + 2);
  const mayWrite = isLeader();
  hanging.resolve();
  assert.equal(mayWrite, false);
});

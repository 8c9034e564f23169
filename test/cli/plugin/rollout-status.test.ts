import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { annotations, setAnnotations } from "../../../src/api/names.ts";
import type { NCAppSet } from "../../../src/api/types.ts";
import { ncapps } from "../../../src/kube/resources.ts";
import type { FakeApi } from "../../kube/fake-api.ts";
import { accept, line } from "../../kube/fake-server.ts";
import { appOf, appSet, condition, createApi, rollout, type SetChanges } from "./set-scene.ts";

/** Lets the watch of sets report these changes, one after the other. */
function reportChanges(api: FakeApi, ...changes: SetChanges[]): void {
  api.intercept = ({ path, query }) => {
    if (query?.watch !== "true" || query.sendInitialEvents || !path.endsWith("/ncappsets")) return undefined;
    const stored = api.get(`${path}/web`);
    const lines = changes.map((change, index) => {
      const set: NCAppSet = appSet(change);
      return line("MODIFIED", {
        ...set,
        metadata: {
          ...set.metadata,
          resourceVersion: String(Number(stored.metadata.resourceVersion) + 1 + index),
        },
      });
    });
    return (response: ServerResponse) => accept(response, ...lines);
  };
}

/** A set with this condition Progressing, and these counts. */
const progressing = (reason: string, message = "", status: SetChanges["status"] = {}): SetChanges => ({
  status: { ...status, conditions: [condition("Progressing", "True", reason, message)] },
});
const under = (updated: number, available = updated) =>
  progressing("RolloutInProgress", "", { updated, available });
const complete = progressing("RolloutComplete", "all is new", { updated: 3, available: 3 });
/** All three apps are updated, and one has failed. */
const failing = (status: SetChanges["status"], maxFailed: number): SetChanges => ({
  ...progressing("RolloutInProgress", "3 of 3 apps have web-new", { updated: 3, failed: 1, ...status }),
  spec: { update: { maxFailed } },
});
const stoppedBy = (progress: string, reason: string, message: string): SetChanges => ({
  status: {
    failed: 1,
    conditions: [
      condition("Progressing", "False", progress, "stopped"),
      condition("Stalled", "True", reason, message),
    ],
  },
});
const stalled = stoppedBy("Stalled", "FailedApps", "the rollout of web-new was stopped: 1 app has failed");

test("status waits until the rollout is complete, with a line for each change", async () => {
  const api = createApi(under(1));
  reportChanges(api, under(2, 1), under(2, 1), under(2), complete);
  const { code, stdout } = await rollout(api, ["status", "web"]);
  assert.equal(code, 0);
  assert.deepEqual(stdout.trim().split("\n"), [
    "set shop/web: 1 of 3 apps are updated, 1 are available",
    "set shop/web: 2 of 3 apps are updated, 1 are available",
    "set shop/web: 2 of 3 apps are updated, 2 are available",
    "set shop/web: complete: all is new",
  ]);
});

test("status on a terminal draws a bar in place", async () => {
  const api = createApi(under(1));
  reportChanges(api, complete);
  const { stdout } = await rollout(api, ["status", "web"], { columns: 60 });
  const drawn = stdout.split("\r\x1b[K").slice(1);
  assert.equal(drawn[0], "set shop/web: [██████░░░░░░░░░░░░░░] 1/3 1 of 3 apps are up");
  assert.equal(drawn.at(-1), "set shop/web: [████████████████████] 3/3 complete: all is new\n");
});

test("the bar shows what is available, what is updated and what is left", async () => {
  const bars = {
    "0 5 5": "░░░░░░░░░░░░░░░░░░░░",
    "3 2 5": "████████▒▒▒▒░░░░░░░░",
    "5 5 5": "████████████████████",
    "0 0 0": "████████████████████",
    // More than there should be, while a set shrinks.
    "9 9 5": "████████████████████",
  };
  for (const [counts, bar] of Object.entries(bars)) {
    const [updated, available, desired] = counts.split(" ").map(Number);
    const api = createApi({ status: { updated, available, desired } });
    const { stdout } = await rollout(api, ["status", "web", "--watch=false"], { columns: 60 });
    assert.equal(/\[(.*?)\] /.exec(stdout.replaceAll("\x1b[", ""))?.[1], bar, counts);
  }
});

test("status of a rollout that stalls exits with 1 and names the apps of the new revision that fail, once", async () => {
  const api = createApi(under(1));
  for (
    const app of [
      appOf("a", "new", { phase: "BackOff", reason: "Error", message: "exit 1\nfake: line" }),
      appOf("b", "new", { phase: "Running", ready: true }),
      appOf("c", "old", { phase: "Failed", reason: "Failed" }),
      appOf("d", "new", { phase: "Pending", reason: "NoSuchUser", message: "no user app" }),
      appOf("e", "new", { phase: "Starting" }),
    ]
  ) {
    api.add(ncapps, app);
  }
  reportChanges(api, { status: { ...under(1).status, failed: 1 } }, stalled);
  const { code, stdout } = await rollout(api, ["status", "web"]);
  assert.equal(code, 1);
  assert.deepEqual(stdout.split("\n").slice(1, -2), [
    "  shop/web-a on a: BackOff: Error: exit 1 fake: line",
    "  shop/web-d on d: Pending: NoSuchUser: no user app",
  ]);
  assert.match(stdout, /\nset shop\/web: stalled: the rollout of web-new was stopped: 1 app has failed\n$/);
});

test("status gives up after --timeout, prints once with --watch=false, and ends with a deleted set", async () => {
  const late = await rollout(createApi(under(1)), ["status", "web", "--timeout", "50ms"]);
  assert.equal(late.code, 1);
  assert.match(late.stderr, /timed out after 0\.05 s: set shop\/web: 1 of 3 apps are updated/);
  const once = await rollout(createApi(under(1)), ["status", "web", "--watch=false"]);
  assert.deepEqual([once.code, once.stdout.split("\n").length], [0, 2]);
  assert.equal((await rollout(createApi(stalled), ["status", "web", "--watch=false"])).code, 1);

  const api = createApi(under(1));
  api.intercept = ({ path, query }) =>
    query?.watch === "true" && !query.sendInitialEvents && path.endsWith("/ncappsets")
      ? (response: ServerResponse) => accept(response, line("DELETED", { ...api.get(`${path}/web`) }))
      : undefined;
  const gone = await rollout(api, ["status", "web"]);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /set shop\/web was deleted/);
});

for (
  const [name, changes, shown] of [
    [
      "a change that the controller has not seen",
      progressing("RolloutComplete", "", { observedGeneration: 1 }),
      "waiting for the controller to see the change; if this takes long, check that one runs " +
      "('nckubelet controller', or 'nckubelet agent --with-controller')",
    ],
    ["a set without a status", { status: { observedGeneration: undefined } }, "waiting for"],
    ["a rollout under way", progressing("RolloutInProgress", "1 of 3 apps have web-new"), "1 of 3 apps have"],
    [
      "a condition without a message",
      progressing("RolloutInProgress"),
      "1 of 3 apps are updated, 2 are available",
    ],
    ["a complete rollout", progressing("RolloutComplete", "all"), "complete: all"],
    [
      "a partition that is reached, but not available yet",
      progressing("PartitionReached", "2 keep"),
      "2 keep",
    ],
    [
      "a partition that is reached",
      progressing("PartitionReached", "2 keep", { available: 3 }),
      "complete: 2 keep",
    ],
    [
      "failures that are tolerated, after the end",
      failing({ available: 2, stableRevision: "web-new" }, 2),
      "complete: 2 of 3 apps are available, 1 failed, which maxFailed tolerates",
    ],
    [
      "more failures than are tolerated, after the end",
      failing({ available: 2, stableRevision: "web-new" }, 1),
      "3 of 3 apps have web-new",
    ],
    [
      "tolerated failures while other apps of a stable revision start",
      failing({ available: 1, stableRevision: "web-new" }, 2),
      "3 of 3 apps have web-new",
    ],
    ["failures that are tolerated, before the end", failing({ available: 2 }, 2), "3 of 3 apps have web-new"],
    [
      "a canary that waits",
      progressing("WaitingForPromotion", "the canary is available"),
      "the canary is available",
    ],
    [
      "a rollout that was stopped",
      stoppedBy("Stalled", "FailedApps", "1 app\nfailed"),
      "stalled: 1 app failed",
    ],
    [
      "a rollout that went back",
      stoppedBy("RolledBack", "RolledBack", "1 app has failed"),
      "stalled: 1 app has failed",
    ],
  ] as [string, SetChanges, string][]
) {
  test(`status of ${name} says: ${shown}`, async () => {
    const { code, stdout } = await rollout(createApi(changes), ["status", "web", "--watch=false"]);
    assert.ok(stdout.startsWith(`set shop/web: ${shown}`), stdout);
    assert.equal(code, shown.startsWith("stalled") ? 1 : 0);
  });
}

/** A set of three apps that is a job, with these conditions. */
const job = (status: SetChanges["status"], ...truths: string[]): SetChanges => ({
  spec: { job: { parallelism: 1 }, replicas: undefined },
  status: {
    desired: 3,
    ...status,
    conditions: [
      condition("Progressing", "True", "Running", `${status?.succeeded} of 3 apps have completed`),
      ...["Complete", "Failed"].map((type) =>
        condition(type, truths.includes(type) ? "True" : "False", "Why")
      ),
    ],
  },
});

test("status of a job shows what has completed, and waits for its end", async () => {
  const api = createApi(job({ succeeded: 0, active: 1 }));
  reportChanges(api, job({ succeeded: 2, active: 1 }), job({ succeeded: 3 }, "Complete"));
  const { code, stdout } = await rollout(api, ["status", "web"], { columns: 80 });
  assert.equal(code, 0);
  assert.deepEqual([...new Set(stdout.split("\r\x1b[K").slice(1))], [
    "set shop/web: [▒▒▒▒▒▒░░░░░░░░░░░░░░] 0/3 0 of 3 apps have completed",
    "set shop/web: [█████████████▒▒▒▒▒▒▒] 2/3 2 of 3 apps have completed",
    "set shop/web: [████████████████████] 3/3 complete: 3 of 3 apps have completed\n",
  ]);
});

test("status of a job that failed lists every app that failed with its node, and exits with 1", async () => {
  const api = createApi(job({ succeeded: 1, failed: 2 }, "Failed"));
  const exit = { reason: "Error", message: "disk full" };
  const message = "Ended with status 1: Error";
  api.add(ncapps, appOf("n1", "new", { phase: "Failed", reason: "Error", message, lastExit: exit }));
  const stopped = appOf("n2", "old", { phase: "Stopped", reason: "Suspended", lastExit: exit });
  stopped.metadata.annotations = { [annotations.run]: '{"failedAt":"2026-11-17T00:00:00Z","failures":7}' };
  api.add(ncapps, stopped);
  api.add(ncapps, appOf("n3", "new", { phase: "Succeeded" }));
  const { code, stdout } = await rollout(api, ["status", "web"]);
  assert.equal(code, 1);
  assert.deepEqual(stdout.trim().split("\n"), [
    "shop/web-n1 on n1: Failed: Error: disk full",
    "  shop/web-n2 on n2: Failed: Error: disk full",
    "set shop/web: failed: 1 of 3 apps have completed",
  ]);
});

test("status of a job that was retried a moment ago waits for the controller", async () => {
  const failed = job({ succeeded: 1, failed: 2 }, "Failed");
  const metadata = { annotations: { [setAnnotations.retry]: "now" } };
  const api = createApi({ ...failed, metadata });
  const complete = job({ succeeded: 3, retry: "now" }, "Complete");
  reportChanges(api, { ...complete, metadata });
  const { code, stdout } = await rollout(api, ["status", "web"]);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /waiting for the controller to see the change.*\n(.*\n)*set shop\/web: complete: 3 of 3/,
  );
});

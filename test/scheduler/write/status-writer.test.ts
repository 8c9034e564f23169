import assert from "node:assert/strict";
import { test } from "node:test";
import { takeMachineClock } from "../../machine-clock.ts";
import { waitFor } from "../../wait-for.ts";

import { calls, pathOf, withApps } from "./write-scene.ts";

test("the newest status wins, a status that is already there is not sent, and other writers' changes stay", async () => {
  await withApps({ web: {} }, async ({ api, cluster, writer, stored, requests }) => {
    const ready = { type: "Ready", status: "False" } as const;
    api.touch(pathOf("web"), (app) => app.status = { conditions: [ready] });
    for (const message of ["one", "two", "three"]) writer.write("default/web", { kind: "refused", message });
    await waitFor("the last is told", () => stored("web")?.status?.message === "three");
    assert.deepEqual(stored("web")?.status?.conditions?.map(({ type }) => type), [
      "Ready",
      "Scheduled",
      "Reconciling",
    ]);
    await waitFor("all is done", () => !writer.isPending("default/web"));
    // The first is refused for its version and sent again; of the others only the last, when that is over.
    assert.deepEqual(calls(requests), [
      "PATCH web/status",
      "GET web",
      "PATCH web/status",
      "PATCH web/status",
    ]);
    const before = requests.length;
    writer.write("default/web", { kind: "refused", message: "three" });
    await waitFor("all is done", () => !writer.isPending("default/web"));
    assert.equal(requests.length, before, calls(requests).join());
    assert.equal(cluster.apps.get("default/web")?.status.message, "three");
  });
});

test("a status is retried after an error, and dropped if the server rejects it", async () => {
  let failures = 1;
  await withApps({ web: {} }, async ({ writer, stored }) => {
    writer.write("default/web", { kind: "refused", message: "m" });
    await waitFor("it is told", () => stored("web")?.status?.message === "m");
  }, ({ method }) => method === "PATCH" && failures-- > 0 ? 500 : undefined);
  await withApps({ web: {} }, async ({ writer, requests }) => {
    writer.write("default/web", { kind: "refused", message: "m" });
    await waitFor("it is given up", () => !writer.isPending("default/web"));
    assert.equal(requests.length, 1);
  }, () => 422);
});

test("setting the clock back does not delay the retry of a status", async () => {
  using clock = takeMachineClock();
  let failed = false;
  await withApps({ web: {} }, async ({ writer, stored }) => {
    writer.write("default/web", { kind: "refused", message: "no room" });
    await waitFor("it failed once", () => failed);
    clock.setBack(3_600_000);
    await waitFor("it was written", () => stored("web")?.status?.message === "no room", 10_000);
    const [condition] = stored("web")?.status?.conditions ?? [];
    assert.ok(
      Math.abs(Date.parse(condition?.lastTransitionTime ?? "") - Date.now()) < 60_000,
      "the time of day",
    );
  }, ({ method }) => {
    if (method !== "PATCH" || failed) return undefined;
    failed = true;
    return 500;
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createSchedulerMetrics } from "../../../src/scheduler/serve/metrics.ts";
import { createHealthApp, createSchedulerApp } from "../../../src/scheduler/serve/serve.ts";

function createView({ alive = true } = {}) {
  const metrics = createSchedulerMetrics();
  const gauges = {
    leader: true,
    queues: { active: 1, backoff: 2, parked: 3 },
    nodes: { fresh: 5, stale: 0, none: 1 },
    apps: 7,
  };
  const app = createSchedulerApp({
    version: "1.2.3",
    identity: "me",
    startedAt: new Date(0),
    followers:
      () => [{ name: "ncapps", listed: true, alive, message: alive ? "watching" : "401 Unauthorized" }],
    gauges: () => gauges,
    metrics: () => metrics.render(gauges),
  });
  return { app, metrics };
}

test("/healthz and /livez do not depend on the API server, /readyz reports what is missing", async () => {
  const { app } = createView({ alive: false });
  for (const path of ["/healthz", "/livez"]) assert.equal((await app.request(path)).status, 200);
  const unready = await app.request("/readyz");
  assert.equal(unready.status, 503);
  assert.match(await unready.text(), /^\[-\]ncapps failed: 401 Unauthorized$/m);
  const ready = await createView().app.request("/readyz?verbose");
  assert.equal(ready.status, 200);
  assert.match(await ready.text(), /^\[\+\]ncapps ok: watching$/m);
});

test("the health endpoint reports whether all is well, without details", async () => {
  const [well, unwell] = [createView(), createView({ alive: false })].map(({ app }) => createHealthApp(app));
  for (const path of ["/healthz", "/livez", "/readyz", "/readyz?verbose"]) {
    const answer = await well!.request(path);
    assert.deepEqual([answer.status, await answer.text()], [200, "ok"], path);
  }
  const unready = await unwell!.request("/readyz?verbose");
  assert.deepEqual([unready.status, await unready.text()], [503, "not ready"]);
  assert.equal((await unwell!.request("/livez")).status, 200);
  for (const path of ["/metrics", "/status", "/"]) {
    assert.equal((await well!.request(path)).status, 404, path);
  }
});

test("/metrics has decisions, binds, queues and nodes", async () => {
  const { app, metrics } = createView();
  metrics.decided("bound", 0.05);
  metrics.wrote("outdated");
  metrics.evicted("NodeLost");
  const text = await (await app.request("/metrics")).text();
  for (
    const line of [
      'nckubelet_scheduler_decision_duration_seconds_count{result="bound"} 1',
      'nckubelet_scheduler_binds_total{result="outdated"} 1',
      'nckubelet_scheduler_evictions_total{reason="NodeLost"} 1',
      "nckubelet_scheduler_leader 1",
      'nckubelet_scheduler_pending_apps{queue="parked"} 3',
      'nckubelet_scheduler_nodes{agent="fresh"} 5',
      "nckubelet_scheduler_apps 7",
    ]
  ) assert.ok(text.includes(line), `${line} is not in\n${text}`);
});

test("/status is JSON, and an unknown path is answered with a Status", async () => {
  const { app } = createView();
  const status = await (await app.request("/status")).json();
  assert.deepEqual([status.identity, status.leading, status.queues.parked], ["me", true, 3]);
  const missing = await app.request("/nowhere");
  assert.deepEqual([missing.status, (await missing.json()).kind], [404, "Status"]);
});

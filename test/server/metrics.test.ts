import assert from "node:assert/strict";
import { test } from "node:test";
import { createCounter, createHistogram, exposeMetrics } from "../../src/lib/metrics.ts";
import { createAgentCounters } from "../../src/server/counters.ts";
import type { AppView } from "../../src/server/view.ts";
import { appWith } from "../supervisor/fixtures.ts";
import { serverWith, viewWith, web } from "./fake-agent.ts";
import { parseMetrics } from "./parse-metrics.ts";
import { noPromtool, promtool } from "./promtool.ts";

/** The names that DESIGN promises, with their types. */
const promised = {
  nckubelet_app_cpu_usage_seconds_total: "counter",
  nckubelet_app_cpu_limit_cores: "gauge",
  nckubelet_app_cpu_throttled_seconds_total: "counter",
  nckubelet_app_memory_bytes: "gauge",
  nckubelet_app_memory_limit_bytes: "gauge",
  nckubelet_app_oom_kills_total: "counter",
  nckubelet_app_restarts_total: "counter",
  nckubelet_app_ready: "gauge",
  nckubelet_app_phase: "gauge",
  nckubelet_app_limits_enforced: "gauge",
  nckubelet_app_last_exit_code: "gauge",
  nckubelet_app_last_exit_reason: "gauge",
  nckubelet_app_last_exit_timestamp_seconds: "gauge",
  nckubelet_app_next_run_timestamp_seconds: "gauge",
  nckubelet_app_last_success_timestamp_seconds: "gauge",
  nckubelet_app_probe_failures_total: "counter",
  nckubelet_build_info: "gauge",
  nckubelet_apps: "gauge",
  nckubelet_healthcheck: "gauge",
  nckubelet_sync_duration_seconds: "histogram",
  nckubelet_app_start_duration_seconds: "histogram",
  nckubelet_api_requests_total: "counter",
  nckubelet_watch_restarts_total: "counter",
  nckubelet_history_entries_lost_total: "counter",
  nckubelet_credential_expiration_timestamp_seconds: "gauge",
  nckubelet_timers: "gauge",
  process_cpu_seconds_total: "counter",
  process_resident_memory_bytes: "gauge",
  process_open_fds: "gauge",
  process_max_fds: "gauge",
  process_start_time_seconds: "gauge",
};

const idle: AppView = {
  app: appWith({}, { name: "idle" }),
  source: "socket",
  status: { phase: "Pending" },
  logFile: "/log",
  limits: {},
};

const probe = {
  tcpSocket: { port: 80 },
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
};

function busyCounters() {
  const counters = createAgentCounters();
  counters.syncs.observe(0.003);
  counters.syncs.observe(0.02);
  counters.syncs.observe(100);
  counters.appStarts.observe(0.05);
  counters.countRequest({ verb: "list", resource: "ncapps", code: 200, durationMs: 5 });
  counters.countRequest({ verb: "list", resource: "ncapps", code: 200, durationMs: 5 });
  counters.countRequest({ verb: "patch", resource: "ncapps/status", code: 0, durationMs: 5 });
  counters.watchRestarts.add({ reason: "silent" });
  return counters;
}

async function scrape(apps: AppView[] = [web, idle], counters = busyCounters()): Promise<string> {
  const answer = await serverWith({ counters, view: viewWith({ apps: () => apps }) }).request("/metrics");
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  return await answer.text();
}

test("/metrics has every promised name with its type, even without series", async () => {
  for (const text of [await scrape(), await scrape([], createAgentCounters())]) {
    assert.deepEqual(parseMetrics(text).types, promised);
  }
});

test("an app's series carry namespace and name, and what it does not have is left out", async () => {
  const { samples } = parseMetrics(await scrape());
  const of = (name: string) =>
    samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels, value]);
  const [webLabels, idleLabels] = [{ namespace: "default", app: "web" }, {
    namespace: "default",
    app: "idle",
  }];
  assert.deepEqual(of("nckubelet_app_cpu_usage_seconds_total"), [[webLabels, 12.5]]);
  assert.deepEqual(of("nckubelet_app_cpu_limit_cores"), [[webLabels, 0.8]]);
  assert.deepEqual(of("nckubelet_app_cpu_throttled_seconds_total"), [[webLabels, 0.25]]);
  assert.deepEqual(of("nckubelet_app_memory_bytes"), [[webLabels, 50_000_000]]);
  assert.deepEqual(of("nckubelet_app_memory_limit_bytes"), [[webLabels, 100_000_000]]);
  assert.deepEqual(of("nckubelet_app_ready"), [[webLabels, 1], [idleLabels, 0]]);
  assert.deepEqual(of("nckubelet_app_restarts_total"), [[webLabels, 0], [idleLabels, 0]]);
  const phases = Object.fromEntries(
    of("nckubelet_apps").map(([labels, value]) => [(labels as { phase: string }).phase, value]),
  );
  assert.deepEqual([phases.Running, phases.Pending, phases.Failed], [1, 1, 0]);
});

/** A scheduled app whose last run failed, with probes. */
const backup: AppView = {
  ...idle,
  app: appWith({
    schedule: "@daily",
    livenessProbe: probe,
    readinessProbe: probe,
  }, { name: "backup" }),
  status: {
    phase: "BackOff",
    reason: "Error",
    conditions: [{ type: "LimitsEnforced", status: "False", reason: "LimitsUnavailable" }],
    lastExit: { code: 3, reason: "Error", finishedAt: "2026-11-17T03:00:05Z" },
    nextRun: "2026-11-18T03:00:00Z",
    lastSuccess: "2026-11-16T03:00:07Z",
  },
  probeFailures: { readiness: 4 },
};

test("an app's phase, caps, last exit, schedule and probes have series, a phase only for the current one", async () => {
  const enforced = { ...web.status, conditions: [{ type: "LimitsEnforced", status: "True" } as const] };
  const { samples } = parseMetrics(await scrape([{ ...web, status: enforced }, idle, backup]));
  const of = (name: string) =>
    samples.filter((sample) => sample.name === name).map(({ labels: { namespace: _, ...labels }, value }) => [
      Object.values(labels).join(" "),
      value,
    ]);
  assert.deepEqual(of("nckubelet_app_phase"), [["Running  web", 1], ["Pending  idle", 1], [
    "BackOff Error backup",
    1,
  ]]);
  assert.deepEqual(of("nckubelet_app_limits_enforced"), [["web", 1], ["backup", 0]]);
  assert.deepEqual(of("nckubelet_app_last_exit_code"), [["backup", 3]]);
  assert.deepEqual(of("nckubelet_app_last_exit_reason"), [["Error backup", 1]]);
  assert.deepEqual(of("nckubelet_app_last_exit_timestamp_seconds"), [[
    "backup",
    Date.UTC(2026, 10, 17, 3, 0, 5) / 1000,
  ]]);
  assert.deepEqual(of("nckubelet_app_next_run_timestamp_seconds"), [[
    "backup",
    Date.UTC(2026, 10, 18, 3) / 1000,
  ]]);
  assert.deepEqual(of("nckubelet_app_last_success_timestamp_seconds"), [[
    "backup",
    Date.UTC(2026, 10, 16, 3, 0, 7) / 1000,
  ]]);
  assert.deepEqual(of("nckubelet_app_probe_failures_total"), [["liveness backup", 0], [
    "readiness backup",
    4,
  ]]);
  const series = samples.filter(({ labels }) => labels.app === "backup");
  assert.ok(series.length <= 20, `${series.length} series for one app`);
});

test("the checks of /readyz and the agent's own process have series", async () => {
  const checks = () => [{ name: "sync", ok: false, message: "late" }, {
    name: "disk",
    ok: true,
    message: "",
  }];
  const answer = await serverWith({ view: viewWith({ checks }) }).request("/metrics");
  const { samples } = parseMetrics(await answer.text());
  const found = samples.filter(({ name }) => name === "nckubelet_healthcheck");
  assert.deepEqual(found.map(({ labels, value }) => [labels.name, value]), [["sync", 0], ["disk", 1]]);
  const own = (name: string) => samples.find((sample) => sample.name === `process_${name}`)?.value ?? NaN;
  assert.ok(own("cpu_seconds_total") > 0 && own("cpu_seconds_total") < 3600);
  assert.ok(own("resident_memory_bytes") > 1e6);
  assert.ok(own("open_fds") > 2 && own("open_fds") < own("max_fds"));
  assert.ok(Math.abs(own("start_time_seconds") - Date.now() / 1000) < 3600);
});

test("histograms count values below each bound, and requests are counted by verb, resource and code", async () => {
  const { samples } = parseMetrics(await scrape());
  const find = (name: string, labels: Record<string, string>) =>
    samples.find((sample) => sample.name === name && JSON.stringify(sample.labels) === JSON.stringify(labels))
      ?.value;
  const bucket = "nckubelet_sync_duration_seconds_bucket";
  assert.deepEqual(
    ["0.001", "0.005", "0.025", "30", "+Inf"].map((le) => find(bucket, { le })),
    [0, 1, 2, 2, 3],
  );
  assert.equal(find("nckubelet_sync_duration_seconds_count", {}), 3);
  assert.equal(find("nckubelet_sync_duration_seconds_sum", {}), 100.023);
  const requests = "nckubelet_api_requests_total";
  assert.equal(find(requests, { verb: "list", resource: "ncapps", code: "200" }), 2);
  assert.equal(find(requests, { verb: "patch", resource: "ncapps/status", code: "0" }), 1);
  assert.equal(find("nckubelet_watch_restarts_total", { reason: "silent" }), 1);
});

test("promtool finds nothing to complain about", { skip: noPromtool }, async () => {
  assert.deepEqual(await promtool(["check", "metrics"], await scrape()), { code: 0, said: "" });
});

test("a histogram times work that throws, too", () => {
  const histogram = createHistogram([1]);
  assert.throws(() =>
    histogram.time(() => {
      throw new Error("no");
    }), /no/);
  assert.equal(histogram.snapshot().count, 1);
});

test("a counter's snapshot does not change afterwards", () => {
  const counter = createCounter<{ a: string }>();
  counter.add({ a: "x" });
  const before = counter.snapshot();
  counter.add({ a: "x" });
  assert.deepEqual(before, [{ labels: { a: "x" }, value: 1 }]);
});

test("labels and help are escaped, and a sample has its time if it was measured before", async () => {
  const labels = { text: 'a "b"\\\n' };
  const values = [{ labels, value: 1.5, time: 1_700_000_000_123 }, { value: Infinity }, { value: -Infinity }];
  assert.equal(
    await exposeMetrics([{ name: "a_b", help: 'The "c"\\\nd.', type: "gauge", values }]),
    [
      '# HELP a_b The "c"\\\\\\nd.',
      "# TYPE a_b gauge",
      String.raw`a_b{text="a \"b\"\\\n"} 1.5 1700000000123`,
      "a_b +Inf",
      "a_b -Inf",
      "",
    ].join("\n"),
  );
});

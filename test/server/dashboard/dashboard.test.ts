import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { test } from "node:test";
import { sampleAt, shapeOf, xOf } from "../../../src/server/dashboard/browser/chart-shape.ts";
import {
  ago,
  bytes,
  cap,
  capOf,
  clock,
  linesWith,
  localTime,
  percent,
  withoutColors,
} from "../../../src/server/dashboard/browser/format.ts";
import type { History } from "../../../src/server/view.ts";
import type { App } from "../../../src/server/dashboard/browser/agent.ts";
import { messageOf, phaseText, toneOf } from "../../../src/server/dashboard/browser/app-state.ts";
import { problemSentence, problemsOf } from "../../../src/server/dashboard/browser/node-panel.ts";
import {
  phasesOf,
  readView,
  selectApps,
  startView,
  writeView,
} from "../../../src/server/dashboard/browser/view-state.ts";
import { extend, shown } from "../../../src/server/dashboard/browser/timeline.ts";
import { serverWith } from "../fake-agent.ts";

const paths = { page: "/", script: "/dashboard.js", style: "/dashboard.css" };

async function load() {
  const app = serverWith();
  const entries = await Promise.all(
    Object.entries(paths).map(async ([part, path]) => {
      const answer = await app.request(path);
      return [part, { text: await answer.text(), headers: answer.headers }] as const;
    }),
  );
  return Object.fromEntries(entries) as Record<keyof typeof paths, { text: string; headers: Headers }>;
}

test("the dashboard is small, and nothing in it comes from elsewhere or stands inline", async () => {
  const { page, script, style } = await load();
  const size = [page, script, style].reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  assert.ok(size < 60 * 1024, `${size} bytes`);
  for (const { text } of [page, script, style]) {
    const links = (text.match(/https?:\/\/[^"'`\s]+/g) ?? []).filter((link) =>
      link !== "http://www.w3.org/2000/svg"
    );
    assert.deepEqual(links, []);
  }
  assert.doesNotMatch(page.text, /<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|javascript:/i);
  assert.doesNotMatch(
    script.text,
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
  );
});

test("the dashboard's policy lets only its own files run and its own agent be asked", async () => {
  const { page, script, style } = await load();
  const policy = page.headers.get("content-security-policy") ?? "";
  for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]) {
    assert.ok(policy.split("; ").includes(rule), rule);
  }
  assert.doesNotMatch(policy, /unsafe/);
  assert.deepEqual([page, script, style].map(({ headers }) => headers.get("content-type")), [
    "text/html; charset=utf-8",
    "text/javascript; charset=utf-8",
    "text/css; charset=utf-8",
  ]);
});

test(
  "what is served is what the page's files say",
  { skip: "deno" in process.versions && "esbuild is run by Node" },
  async () => {
    const { renderAssets } = await import("../../../tools/dashboard.ts");
    const kept = await readFile(new URL("../../../src/server/dashboard/assets.ts", import.meta.url), "utf8");
    assert.ok(kept === await renderAssets(), "run: npm run generate");
  },
);

const part = (first: number, cpu: (number | null)[], fields: Partial<History> = {}): History => {
  const series = { cpuPCT: cpu, memPCT: cpu.map(() => 1) };
  return {
    periodSeconds: 10,
    first,
    last: first + cpu.length - 1,
    at: 0,
    node: series,
    apps: { "default/web": { ...series, oomKills: [], restarts: [] } },
    ...fields,
  };
};

test("a timeline grows by what is new, and keeps half an hour", () => {
  const first = extend(undefined, part(0, [1, 2]));
  const second = extend(first, part(2, [3]));
  assert.deepEqual([second.first, second.last, second.node.cpuPCT], [0, 2, [1, 2, 3]]);
  const long = extend(second, part(3, Array.from({ length: shown }, (_, n) => n)));
  assert.equal(long.node.cpuPCT.length, shown);
  assert.deepEqual([long.first, long.last, long.node.cpuPCT[0]], [3, shown + 2, 0]);
});

test("a timeline starts before the first measurement, and again with another agent", () => {
  const empty = extend(undefined, part(0, []));
  assert.deepEqual([empty.last, empty.node.cpuPCT], [-1, []]);
  assert.deepEqual(extend(empty, part(0, [5])).node.cpuPCT, [5]);
  const old = extend(undefined, part(100, [1, 2, 3]));
  assert.deepEqual(extend(old, part(0, [9])).node.cpuPCT, [9]);
});

test("an app that came later begins later, one that is gone is gone, and old marks leave", () => {
  const series = { cpuPCT: [7], memPCT: [7], oomKills: [2], restarts: [2] };
  const before = extend(undefined, part(0, [1, 2]));
  const after = extend(before, part(2, [3], { apps: { "default/new": series } }));
  assert.deepEqual(Object.keys(after.apps), ["default/new"]);
  assert.deepEqual(after.apps["default/new"]?.cpuPCT, [null, null, 7]);
  assert.deepEqual(after.apps["default/new"]?.oomKills, [2]);
  const much = extend(
    after,
    part(3, new Array(shown).fill(0), { apps: { "default/new": { ...series, oomKills: [], restarts: [] } } }),
  );
  assert.deepEqual(much.apps["default/new"]?.oomKills, []);
});

test("a chart is broken where nothing was measured, and its scale has room for values and cap", () => {
  const { line, area, top, capY } = shapeOf([1, 2, null, 3, null, null, 4, 5], 20);
  assert.equal(line.split("M").length - 1, 3);
  assert.equal(area.split("Z").length - 1, 3);
  assert.equal(top, 25);
  assert.ok(capY !== undefined && capY > 0);
  assert.ok(shapeOf([150], 20).top >= 150);
  assert.deepEqual(shapeOf([], undefined), { top: 10, line: "", area: "" });
  assert.doesNotMatch(shapeOf([0, 0.001, 99.999], 0.05).line, /NaN|Infinity|e/);
});

test("a chart's scale ends at a round number, and the pointer finds the sample under it", () => {
  const tops: [number | undefined, number | undefined, number][] = [
    [0, undefined, 10],
    [10.1, undefined, 12],
    [3, 20, 25],
    [0, 2, 2.5],
    [99, 100, 120],
    [0, 0.05, 0.06],
    [450, undefined, 500],
  ];
  for (const [value, cap, top] of tops) assert.equal(shapeOf([value ?? 0], cap).top, top, `${value} ${cap}`);
  assert.deepEqual([sampleAt(1, shown), sampleAt(0, shown), sampleAt(0.5, shown)], [shown - 1, 0, shown / 2]);
  assert.deepEqual([sampleAt(1, 10), sampleAt(0.5, 10), sampleAt(2, 10), sampleAt(1, 0)], [
    9,
    undefined,
    9,
    undefined,
  ]);
});

const appOf = (name: string, status: App["status"]): App => ({
  metadata: { name, namespace: "default" },
  spec: { shellFile: "/srv/run.sh" },
  status,
  agent: { source: "socket" },
});

const apps = [
  appOf("web", { phase: "Running", ready: true, cpuPCT: "2.0", memPCT: "1.0", restarts: 3 }),
  appOf("api", {
    phase: "Running",
    ready: true,
    cpuPCT: "9.0",
    memPCT: "0.5",
    startTime: "2026-01-01T00:00:00Z",
  }),
  appOf("cam", {
    phase: "Running",
    ready: false,
    cpuPCT: "1.0",
    memPCT: "7.0",
    startTime: "2026-01-02T00:00:00Z",
  }),
  appOf("idx", { phase: "BackOff", reason: "OOMKilled", message: "Ended", restarts: 9 }),
  appOf("job", { phase: "Succeeded", reason: "Completed", message: "done" }),
];

test("an app is amber while it is not ready, red if it needs the user, and without color at rest", () => {
  assert.deepEqual(apps.map(toneOf), ["good", "good", "warn", "bad", "calm"]);
  const others = ["Pending", "Starting", "Stopping", "Stopped", "Failed", "Unknown", undefined] as const;
  assert.deepEqual(others.map((phase) => toneOf(appOf("x", { phase }))), [
    "warn",
    "warn",
    "warn",
    "calm",
    "bad",
    "bad",
    "bad",
  ]);
  assert.deepEqual(apps.slice(1).map(phaseText), [
    "Running, ready",
    "Running, not ready",
    "BackOff: OOMKilled",
    "Succeeded: Completed",
  ]);
  assert.deepEqual(apps.map((app) => messageOf(app)), ["", "", "", "Ended", ""]);
  const message = "restarting at 2026-01-01T00:00:20Z";
  const waiting: App = { ...apps[3]!, status: { phase: "BackOff", message } };
  assert.equal(messageOf(waiting, Date.parse("2026-01-01T00:00:00Z")), "restarting in 20 s");
});

test("apps are found by every word and sorted as asked, those that need attention first", () => {
  const names = (fields: Partial<typeof startView>) =>
    selectApps(apps, { ...startView, ...fields }).map(({ metadata }) => metadata.name).join(" ");
  assert.equal(names({}), "idx cam api web job");
  assert.equal(names({ sort: "name" }), "api cam idx job web");
  assert.equal(names({ sort: "name", reverse: true }), "web job idx cam api");
  assert.equal(names({ sort: "cpu" }), "api web cam idx job");
  assert.equal(names({ sort: "memory" }), "cam web api idx job");
  assert.equal(names({ sort: "restarts" }), "idx web api cam job");
  assert.equal(names({ sort: "started" }), "cam api idx job web");
  assert.equal(names({ find: "RUNNING not-ready" }), "cam");
  assert.equal(names({ find: "  oom " }), "idx");
  assert.equal(names({ find: "nothing" }), "");
  assert.deepEqual(phasesOf(apps).map(({ phase, count }) => `${phase} ${count}`), [
    "BackOff 1",
    "Running 3",
    "Succeeded 1",
  ]);
});

test("the view survives in the address, and nonsense there is ignored", () => {
  const views = [startView, { find: "a b&c", sort: "cpu", reverse: true }, {
    ...startView,
    reverse: true,
  }] as const;
  for (const view of views) assert.deepEqual(readView(writeView(view)), view);
  assert.equal(writeView(startView), "");
  assert.deepEqual(readView("?sort=toString&reverse=maybe&x=1"), startView);
});

test("problems become one sentence that says what to do", () => {
  const calm = { checks: [], problems: [], limits: { enforced: true, strict: true, message: "" } };
  assert.deepEqual(problemsOf(calm), []);
  const limits = { enforced: false, strict: true, message: "no cgroup v2" };
  const failed = { name: "sync", ok: false, message: "stalled" };
  assert.deepEqual(problemsOf({ ...calm, checks: [failed], problems: [{ message: "bad file." }], limits }), [
    "sync: stalled",
    "bad file.",
    "caps are not enforced: no cgroup v2",
  ]);
  const cgroups = { name: "cgroups", ok: false, message: "none" };
  assert.deepEqual(problemsOf({ ...calm, checks: [cgroups], limits }), ["cgroups: none"]);
  assert.equal(problemSentence(["bad file."]), "bad file; “nckubelet doctor” on the node says what to do.");
  assert.match(problemSentence(["a", "b"]), /^2 problems, the first: a; /);
});

test("times are local, and the log is searched in any case", () => {
  const time = localTime("2026-01-01T12:00:00Z", "en-GB", "Asia/Tokyo");
  assert.equal(time, "1 Jan 2026, 21:00:00");
  assert.deepEqual([localTime(undefined), localTime("soon")], [undefined, "soon"]);
  assert.equal(clock(Date.parse("2026-01-01T00:00:05Z"), "en-US", "UTC"), "00:00:05");
  assert.deepEqual(linesWith("one\nERROR two\nthree error", "Error"), ["ERROR two", "three error"]);
});

test("the newest sample is at the right edge, whatever its number", () => {
  assert.equal(xOf(500, 500), 179.5);
  assert.equal(xOf(321, 500), 0.5);
});

test("figures are formatted for reading", () => {
  assert.deepEqual([percent(12.345), percent("3.0"), percent(null), percent(undefined)], [
    "12.3%",
    "3.0%",
    "–",
    "–",
  ]);
  assert.deepEqual([cap(30), cap(12.5)], ["30%", "12.5%"]);
  assert.deepEqual([bytes(0), bytes(1023), bytes(1536), bytes(5 * 2 ** 30)], [
    "0 B",
    "1023 B",
    "1.5 KiB",
    "5.0 GiB",
  ]);
  assert.deepEqual([capOf("12.5%"), capOf(20), capOf(""), capOf(undefined)], [
    12.5,
    20,
    undefined,
    undefined,
  ]);
  const now = Date.parse("2026-01-01T12:00:00Z");
  assert.deepEqual(
    [
      "2026-01-01T11:59:15Z",
      "2026-01-01T11:30:00Z",
      "2025-12-31T20:00:00Z",
      "2025-12-25T12:00:00Z",
      undefined,
    ]
      .map((time) => ago(time, now)),
    ["45 s", "30 min", "16 h", "7 d", "–"],
  );
  assert.equal(withoutColors("\u001b[1;31mred\u001b[0m plain \u001b[2K"), "red plain ");
});

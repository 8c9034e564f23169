import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeApp } from "../../../src/cli/agent-api/agent-api.ts";
import { topLines } from "../../../src/cli/screen/screen.ts";
import { ncapp } from "../../builders.ts";

const now = Date.parse("2026-01-01T00:10:00Z");
const app = (name: string, cpuPCT: string, memoryBytes: number): NodeApp => ({
  ...ncapp({
    metadata: { name },
    spec: { shellFile: "/srv/web.sh", cpuPCT: "20", nodeName: "edge-7" },
    status: { phase: "Running", cpuPCT, memPCT: "1.5", memoryBytes, startTime: "2026-01-01T00:09:00Z" },
  }),
  agent: { source: "socket" },
});
const apps = [
  app("small", "0.5", 2 ** 20),
  app("big", "12.5", 3 * 2 ** 20),
  app("fat", "0.5", 9 * 2 ** 20),
];
const heading = ["node edge-7, agent 1.0, up 10m"];
const none = "No apps.";

test("topLines() shows the highest usage first, below the heading and the totals", () => {
  const lines = topLines(heading, apps, { now, none });
  assert.deepEqual(lines.slice(0, 3), [...heading, "3 apps, 3 running; total 13.5% CPU, 4.5% memory", ""]);
  assert.match(
    lines[3] ?? "",
    /^APP +PHASE +CPU +THROTTLED +MEM +MiB +PROCS +OOM +RESTARTS +AGE$/,
  );
  assert.deepEqual(lines.slice(4).map((line) => line.split(/ {2,}/).slice(0, 3)), [
    ["default/big", "Running", "12.5/20%"],
    ["default/fat", "Running", "0.5/20%"],
    ["default/small", "Running", "0.5/20%"],
  ]);
});

test("topLines() shows process, source and script in the wide form", () => {
  const [, , , header, big] = topLines(heading, apps, { now, none, wide: true });
  assert.match(header ?? "", / AGE +PID +SOURCE +SCRIPT$/);
  assert.match(big ?? "", /^default\/big .* 60s +- +socket +\/srv\/web\.sh$/);
});

test("topLines() shows the nodes of a cluster's apps, and no sum of their percentages", () => {
  const [totals, , header, big] = topLines([], apps, { now, none, scope: "cluster", wide: true });
  assert.equal(totals, "3 apps, 3 running");
  assert.match(header ?? "", /^APP +NODE +PHASE .* AGE +SCRIPT$/);
  assert.match(big ?? "", /^default\/big +edge-7 +Running +12\.5\/20%/);
});

test("topLines() cuts lines to the terminal, and colors the phase", () => {
  const narrow = topLines(heading, apps, { now, none, width: 20 });
  assert.ok(narrow.every((line) => [...line].length <= 20), narrow.join("\n"));
  const colored = topLines(heading, apps, {
    now,
    none,
    width: 30,
    paint: (color, text) => `<${color}>${text}</>`,
  });
  assert.match(colored[3] ?? "", /^<bold>APP .*…<\/>$/);
  assert.match(colored[4] ?? "", /^default\/big +<green>Running<\/> /);
});

test("topLines() says that there are no apps", () => {
  assert.deepEqual(topLines([], [], { now, none }), [
    "0 apps, 0 running; total 0.0% CPU, 0.0% memory",
    "",
    none,
  ]);
});

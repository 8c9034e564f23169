import assert from "node:assert/strict";
import { test } from "node:test";
import { type Chart, renderChart } from "../../bench/chart.ts";
import { axisTicks, scaleFor } from "../../bench/scale.ts";

const chart: Chart = {
  name: "memory",
  title: "Memory <of> the agent & more",
  x: { label: "apps" },
  y: { label: "MB" },
  lines: [
    { name: "resident", points: [[0, 60], [500, 80], [1000, 100]] },
    { name: "anonymous", points: [[0, 20], [500, 40], [1000, 60]] },
  ],
};

test("a chart is one SVG that names every line and both axes", () => {
  const svg = renderChart(chart);
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" /);
  assert.match(svg, /<\/svg>\n$/);
  for (const text of ["resident", "anonymous", "apps", "MB"]) {
    assert.ok(svg.includes(`>${text}</text>`), text);
  }
});

test("a title with XML characters is escaped", () => {
  assert.ok(renderChart(chart).includes("Memory &lt;of&gt; the agent &amp; more"));
});

test("a chart has colors for dark mode and loads nothing", () => {
  const svg = renderChart(chart);
  assert.match(svg, /prefers-color-scheme: dark/);
  assert.doesNotMatch(svg, /<script|href=|url\(/);
});

test("every point of a line is a number inside the picture", () => {
  const svg = renderChart({ ...chart, x: { label: "apps", logarithmic: false } });
  for (const [, x = "", y = ""] of svg.matchAll(/[ML](-?[\d.]+|NaN) (-?[\d.]+|NaN)/g)) {
    assert.ok(Number(x) >= 0 && Number(x) <= 720, x);
    assert.ok(Number(y) >= 0 && Number(y) <= 360, y);
  }
});

test("names of lines that end at the same height do not overlap", () => {
  const lines = ["a", "b", "c"].map((name) => ({ name, points: [[0, 1], [1, 5]] as [number, number][] }));
  const heights = [...renderChart({ ...chart, lines }).matchAll(/cx="572" cy="([\d.]+)"/g)].map(([, y]) =>
    Number(y)
  );
  assert.equal(heights.length, 3);
  heights.slice(1).forEach((y, at) => assert.ok(y - heights[at]! >= 17));
});

test("a linear scale starts at zero and ends at a round number", () => {
  const scale = scaleFor([20, 83], [0, 100]);
  assert.deepEqual([scale.least, scale.most, scale.place(0), scale.place(100)], [0, 100, 0, 100]);
  assert.deepEqual(axisTicks(scale), [0, 20, 40, 60, 80, 100]);
});

test("a logarithmic scale has powers of ten at equal steps, and refuses zero", () => {
  const scale = scaleFor([12, 9000], [0, 300], true);
  assert.deepEqual(axisTicks(scale), [10, 100, 1000, 10_000]);
  assert.equal(Math.round(scale.place(100)), 100);
  assert.throws(() => scaleFor([0, 5], [0, 1], true), /logarithmic scale for 0/);
  assert.throws(() => scaleFor([], [0, 1]), /without values/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { type AppSample, createHistory } from "../../../src/agent/view/history.ts";

const node = (cpuPCT: number) => ({ cpuPCT, memPCT: 50 });
const app = (cpuPCT: number | undefined, fields: Partial<AppSample> = {}): AppSample => ({
  measured: cpuPCT === undefined ? undefined : { cpuPCT, memPCT: 1.5, cpuThrottledPCT: 0 },
  oomKills: 0,
  restarts: 0,
  ...fields,
});

test("samples come out in order, to a hundredth of a percent, with null where nothing was measured", () => {
  const history = createHistory({ now: () => 1000 });
  assert.deepEqual([history.read(-1).first, history.read(-1).last], [0, -1]);
  history.add(undefined, new Map([["default/web", app(12.345)]]));
  history.add(node(7), new Map([["default/web", app(undefined)]]));
  history.add(node(8), new Map([["default/web", app(0)]]));
  const { first, last, at, periodSeconds, ...rest } = history.read(-1);
  assert.deepEqual([first, last, at, periodSeconds], [0, 2, 1000, 10]);
  assert.deepEqual(rest.node, { cpuPCT: [null, 7, 8], memPCT: [null, 50, 50] });
  assert.deepEqual(rest.apps, {
    "default/web": { cpuPCT: [12.35, null, 0], memPCT: [1.5, null, 1.5], oomKills: [], restarts: [] },
  });
});

test("read() returns the samples after the given one, and all for an unknown one", () => {
  const history = createHistory();
  for (let n = 0; n < 5; n++) history.add(node(n), new Map());
  assert.deepEqual(history.read(2).node.cpuPCT, [3, 4]);
  assert.equal(history.read(2).first, 3);
  assert.deepEqual(history.read(4).node.cpuPCT, []);
  assert.deepEqual(history.read(99).node.cpuPCT, [0, 1, 2, 3, 4]);
});

test("what earlier agents wrote fills the time before the first sample, and the samples keep their places", () => {
  let now = 1_800_000_000_000;
  const history = createHistory({ samples: 60, now: () => now });
  history.add(node(1), new Map([["default/web", app(50)]]));
  const usage = { cpuPCT: 10, memPCT: 2, throttledPCT: 0.5 };
  history.fill(
    new Map([
      ["default/web", [{ time: now - 400_000, usage: { ...usage, cpuPCT: 5 } }, {
        time: now - 60_000,
        usage,
      }]],
      ["default/late", [{ time: now - 500_000, usage }]],
    ]),
  );
  const { first, last, apps } = history.read(0);
  const web = apps["default/web"]!;
  assert.deepEqual([first, last], [1, 60], "a page that has sample 0 continues with the next one");
  // The entry of a minute ago covers five minutes, the one before it what is left of the ten minutes on the chart.
  const expected = [
    ...Array(20).fill(5),
    ...Array(4).fill(null),
    ...Array(30).fill(10),
    ...Array(5).fill(null),
    50,
  ];
  assert.deepEqual(web.cpuPCT, expected);
  assert.deepEqual([web.memPCT[50], web.throttledPCT?.[50], web.memPCT[59]], [2, 0.5, 1.5]);
  assert.equal(apps["default/late"]!.cpuPCT.filter((share) => share === 10).length, 10);
  now += 10_000;
  const restarted = app(51, { restarts: 3, oomKills: 2 });
  history.add(node(2), new Map([["default/web", restarted], ["default/late", restarted]]));
  const next = history.read(60).apps;
  assert.deepEqual([next["default/web"], next["default/late"]?.restarts], [
    { cpuPCT: [51], memPCT: [1.5], oomKills: [61], restarts: [61] },
    [],
  ]);
  assert.deepEqual(history.read(-1).node.cpuPCT.slice(-2), [1, 2]);
  assert.deepEqual(history.read(-1).node.cpuPCT.slice(0, -2), Array(58).fill(null));
});

test("what earlier agents wrote comes too late for a chart that is full", () => {
  const history = createHistory({ samples: 3 });
  for (let n = 0; n < 3; n++) history.add(node(n), new Map([["default/web", app(n)]]));
  history.fill(new Map([["default/web", [{ time: Date.now(), usage: { cpuPCT: 9 } }]]]));
  assert.deepEqual(history.read(-1).apps["default/web"]?.cpuPCT, [0, 1, 2]);
});

test("only the newest samples are kept", () => {
  const history = createHistory({ samples: 3 });
  for (let n = 0; n < 8; n++) history.add(node(n), new Map([["default/web", app(n)]]));
  const { first, last, node: { cpuPCT }, apps } = history.read(-1);
  assert.deepEqual([first, last, cpuPCT], [5, 7, [5, 6, 7]]);
  assert.deepEqual(apps["default/web"]?.cpuPCT, [5, 6, 7]);
  assert.deepEqual(history.read(1).node.cpuPCT, [5, 6, 7]);
});

test("kills and restarts are marked in the sample in which they were first seen, not those of before", () => {
  const history = createHistory();
  const counts = [[5, 2], [5, 2], [6, 3], [6, 3], [8, 3]] as const;
  for (const [oomKills, restarts] of counts) {
    history.add(node(1), new Map([["default/web", app(1, { oomKills, restarts })]]));
  }
  const web = history.read(-1).apps["default/web"];
  assert.deepEqual([web?.oomKills, web?.restarts], [[2, 4], [2]]);
  assert.deepEqual(history.read(2).apps["default/web"]?.oomKills, [4]);
});

test("throttling is included only if there was any", () => {
  const history = createHistory();
  const measured = { cpuPCT: 20, memPCT: 1, cpuThrottledPCT: 33.3 };
  history.add(node(1), new Map([["default/web", app(1)]]));
  history.add(node(1), new Map([["default/web", app(1, { measured })]]));
  assert.deepEqual(history.read(-1).apps["default/web"]?.throttledPCT, [0, 33.3]);
});

test("an app that is gone is forgotten", () => {
  const history = createHistory();
  history.add(node(1), new Map([["default/web", app(1)]]));
  history.add(node(1), new Map());
  assert.deepEqual(history.read(-1).apps, {});
  history.add(node(1), new Map([["default/web", app(3)]]));
  assert.deepEqual(history.read(-1).apps["default/web"]?.cpuPCT, [null, null, 3]);
});

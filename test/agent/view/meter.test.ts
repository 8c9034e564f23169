import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { createMeter } from "../../../src/agent/view/meter.ts";
import type { Usage } from "../../../src/supervisor/confinement/types.ts";
import type { Supervisor } from "../../../src/supervisor/supervisor.ts";
import { appWith } from "../../supervisor/fixtures.ts";

const idle: Usage = { cpuSeconds: 1, throttledSeconds: 0, memoryBytes: 512, processes: 1, oomKills: 0 };

/** A meter for one app, whose counters are taken from a list, one after the other; undefined where it does not run. */
function meterOf(readings: (Usage | undefined)[], spec: NCAppSpec = {}) {
  let seconds = 0;
  const run = { id: "r1", createdAt: 0 };
  const record: { app: unknown; run: typeof run; others?: typeof run[] } = { app: appWith(spec), run };
  const told: string[] = [];
  const supervisor = {
    get: () => ({ record }),
    list: () => [{ key: "default/web" }],
    readUsage: async () => readings.shift(),
  } as unknown as Supervisor;
  const meter = createMeter({
    supervisor,
    size: { cpus: 1, memoryBytes: 1024 },
    onMeasured: (key) => told.push(key),
    now: () => 10_000 * ++seconds,
  });
  return { meter, told, run, record };
}

test("what was used between two readings is measured as a share of the node", async () => {
  const { meter, told } = meterOf([{ ...idle }, { ...idle, cpuSeconds: 3 }]);
  await meter.readAll();
  await meter.readAll();
  assert.deepEqual([meter.latest("default/web")?.cpuPCT, meter.latest("default/web")?.memPCT], [20, 50]);
  assert.equal(told.length, 2);
});

test("an app that used the same is shown by the same object, one that did not by another", async () => {
  const { meter } = meterOf([{ ...idle }, { ...idle }, { ...idle }, { ...idle, memoryBytes: 513 }]);
  const shown = [];
  for (let time = 0; time < 4; time++) {
    await meter.readAll();
    shown.push(meter.latest("default/web"));
  }
  assert.equal(shown[1], shown[2]);
  assert.notEqual(shown[2], shown[3]);
});

test("an app that does not run any more has no figures", async () => {
  const { meter } = meterOf([idle, undefined]);
  await meter.readAll();
  await meter.readAll();
  assert.equal(meter.latest("default/web"), undefined);
});

test("a new run has no figures before it is measured itself", async () => {
  const { meter, run } = meterOf([{ ...idle, oomKills: 3 }, idle]);
  await meter.readAll();
  assert.equal(meter.latest("default/web")?.oomKills, 3);
  run.id = "r2";
  assert.deepEqual([meter.latest("default/web"), meter.reading("default/web")], [undefined, undefined]);
  await meter.readAll();
  assert.equal(meter.latest("default/web")?.oomKills, 0);
});

test("a run that begins beside another, and one that outlives it, are measured by what was used since the last reading", async () => {
  const shared = { ...idle, counters: "app", cpuSeconds: 120 };
  const { meter, record } = meterOf([
    shared,
    { ...shared, cpuSeconds: 122 },
    { ...shared, cpuSeconds: 123 },
    { ...shared, counters: "made anew", cpuSeconds: 4 },
  ]);
  const shown = async () => {
    await meter.readAll();
    return meter.latest("default/web")?.cpuPCT;
  };
  await shown();
  const [first, second] = [record.run, { id: "r2", createdAt: 20_000 }];
  Object.assign(record, { run: second, others: [first] });
  assert.equal(await shown(), 20);
  Object.assign(record, { run: first, others: undefined });
  assert.equal(await shown(), 10);
  Object.assign(record, { run: { id: "r3", createdAt: 40_000 } });
  assert.equal(await shown(), 40);
});

test("what others used before an agent came is not taken for the use of the run that it finds", async () => {
  const shared = { ...idle, counters: "app", cpuSeconds: 120 };
  const beside = meterOf([shared]);
  beside.record.others = [{ id: "r0", createdAt: 0 }];
  const after = meterOf([shared], { schedule: "* * * * *", concurrencyPolicy: "Allow" });
  for (const { meter } of [beside, after]) {
    await meter.readAll();
    assert.equal(meter.latest("default/web")?.cpuPCT, 0);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createMeter } from "../../../src/agent/view/view.ts";
import type { Usage } from "../../../src/supervisor/confinement/confinement.ts";
import type { SupervisedApp, Supervisor } from "../../../src/supervisor/supervisor.ts";
import { takeMachineClock } from "../../machine-clock.ts";
import { appWith } from "../../supervisor/fixtures.ts";
import { waitFor } from "../../wait-for.ts";

const idle: Usage = { cpuSeconds: 1, throttledSeconds: 0, memoryBytes: 512, processes: 1 };

/** A meter for one app, whose counters are taken from a list, one after the other; undefined where it does not run. */
function meterOf(
  readings: (Usage | undefined)[],
  { ownClock = false, now }: { ownClock?: boolean; now?: () => number } = {},
) {
  let seconds = 0;
  const soon: (() => void)[] = [];
  const run = { id: "r1", createdAt: 0 };
  const record: { app: unknown; run: typeof run; others?: typeof run[] } = { app: appWith({}), run };
  const measured: string[] = [];
  const supervisor = {
    get: () => ({ record }),
    list: () => [{ key: "default/web" }],
    readUsage: async () => readings.shift(),
  } as unknown as Supervisor;
  const meter = createMeter({
    supervisor,
    size: { cpus: 1, memoryBytes: 1024 },
    now: ownClock ? undefined : now ?? (() => 10_000 * ++seconds),
    later: (_ms, work) => void soon.push(work),
  });
  meter.listen((key) => measured.push(key));
  const app = { key: "default/web", record } as SupervisedApp;
  const latest = () => meter.latest(app);
  return { meter, measured, run, record, app, latest, soon };
}

test("what was used between two readings is measured as a share of the node", async () => {
  const { meter, measured, latest } = meterOf([{ ...idle }, { ...idle, cpuSeconds: 3 }]);
  await meter.readAll();
  await meter.readAll();
  assert.deepEqual([latest()?.cpuPCT, latest()?.memPCT], [20, 50]);
  assert.equal(measured.length, 2);
});

test("an app that used the same is shown by the same object, one that did not by another", async () => {
  const { meter, latest } = meterOf([{ ...idle }, { ...idle }, { ...idle }, { ...idle, memoryBytes: 513 }]);
  const shown = [];
  for (let time = 0; time < 4; time++) {
    await meter.readAll();
    shown.push(latest());
  }
  assert.equal(shown[1], shown[2]);
  assert.notEqual(shown[2], shown[3]);
});

test("an app that does not run any more has no figures", async () => {
  const { meter, latest } = meterOf([idle, undefined]);
  await meter.readAll();
  await meter.readAll();
  assert.equal(latest(), undefined);
});

test("a new run has no figures before it is measured itself", async () => {
  const { meter, run, app, latest } = meterOf([{ ...idle, processes: 3 }, idle]);
  await meter.readAll();
  assert.equal(latest()?.processes, 3);
  run.id = "r2";
  assert.deepEqual([latest(), meter.reading(app)], [undefined, undefined]);
  await meter.readAll();
  assert.equal(latest()?.processes, 1);
});

test("a run that starts beside another, and one that outlives it, are measured since the last reading", async () => {
  const shared = { ...idle, counters: "app", cpuSeconds: 120 };
  const { meter, record, latest } = meterOf([
    shared,
    { ...shared, cpuSeconds: 122 },
    { ...shared, cpuSeconds: 123 },
    { ...shared, counters: "created again", cpuSeconds: 4 },
  ]);
  const shown = async () => {
    await meter.readAll();
    return latest()?.cpuPCT;
  };
  await shown();
  const [first, second] = [record.run, { id: "r2", createdAt: 20_000 }];
  Object.assign(record, { run: second, others: [first] });
  assert.equal(await shown(), 20);
  Object.assign(record, { run: first, others: undefined });
  assert.equal(await shown(), 10);
  Object.assign(record, { run: { id: "r3", createdAt: 40_000 } });
  assert.equal(await shown(), undefined);
});

test("the first reading shows no rate: counters may be older than the run and the agent. The second follows soon", async () => {
  const old = { ...idle, cpuSeconds: 120 };
  const { meter, measured, latest, soon } = meterOf([old, { ...old, cpuSeconds: 122 }]);
  await meter.readAll();
  assert.deepEqual([latest()?.cpuPCT, latest()?.memPCT, soon.length], [undefined, 50, 1]);
  soon[0]!();
  while (measured.length < 2) await nextTurn();
  assert.deepEqual([latest()?.cpuPCT, soon.length], [20, 1]);
});

/** A run that this meter sees so long after its start. */
const startedAgo = (ms: number) => ({ id: "r1", createdAt: 0, startedAt: Date.now() - ms });

test("the first run of an app has a rate at its first reading", async () => {
  const { meter, app, record, latest, soon } = meterOf([idle]);
  record.run = startedAgo(0);
  for (let time = 0; time < 2; time++) await meter.begin(app);
  assert.deepEqual([latest(), meter.reading(app), soon.length], [undefined, undefined, 1]);
  soon[0]!();
  await waitFor("it is measured", latest);
  assert.ok(Math.abs(latest()!.cpuPCT! - 10) < 0.1, `${latest()!.cpuPCT}`);
  assert.equal(meter.reading(app)?.usage, idle);
});

test("the time before the start of a first run was seen counts for its rate", async () => {
  const { meter, app, record, latest, soon } = meterOf([idle]);
  record.run = startedAgo(1900);
  await meter.begin(app);
  soon[0]!();
  await waitFor("it is measured", latest);
  // One second of CPU time in 11.9 s.
  assert.ok(latest()!.cpuPCT! < 8.5, `${latest()!.cpuPCT}`);
});

test("a first run is shown as it was read, even if that gives no rate yet", async () => {
  let now = 0;
  const { meter, app, record, latest } = meterOf([{ ...idle, cpuSeconds: 0.05 }], { now: () => now += 100 });
  record.run = startedAgo(0);
  await meter.begin(app);
  await meter.readAll();
  assert.deepEqual([latest()?.processes, latest()?.cpuPCT, meter.reading(app)], [1, undefined, undefined]);
});

test("counters that a first run cannot have alone give no rate", async () => {
  const old = { ...idle, cpuSeconds: 120 };
  const { meter, app, record, latest, soon } = meterOf([old, { ...old, cpuSeconds: 122 }]);
  record.run = startedAgo(0);
  await meter.begin(app);
  soon[0]!();
  await waitFor("it is measured", latest);
  assert.equal(latest()?.cpuPCT, undefined);
  await meter.readAll();
  assert.equal(latest()?.cpuPCT, 20);
});

test("a run that is not the first, or did not just start, is measured at once", async () => {
  for (const change of [{ lastExit: { code: 1 } }, { others: [] }, { run: startedAgo(5000) }]) {
    const { meter, app, record, latest } = meterOf([idle]);
    Object.assign(record, { run: startedAgo(0) }, change);
    await meter.begin(app);
    assert.deepEqual([latest()?.processes, latest()?.cpuPCT], [1, undefined]);
  }
});

test("a machine whose clock is set between two readings shows no rate for time that did not pass", async () => {
  using clock = takeMachineClock();
  const { meter, latest } = meterOf([{ ...idle }, { ...idle, cpuSeconds: 3 }], { ownClock: true });
  await meter.readAll();
  clock.setBack(-10_000);
  await meter.readAll();
  assert.equal(latest()?.cpuPCT, undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { CgroupError, limitsFor, splitByControllers } from "../../../cgroups/mod.ts";

const GIB = 1024 ** 3;
const valueOf = (spec: Parameters<typeof limitsFor>[0], cpus: number, file: string, memoryBytes = 8 * GIB) =>
  limitsFor(spec, { cpus, memoryBytes }).find((limit) => limit.file === file)?.value;

test("limitsFor() turns percentages of the whole node into files and values", () => {
  assert.deepEqual(
    limitsFor({ cpuPCT: 20, memPCT: 25, pidsMax: 100 }, { cpus: 4, memoryBytes: 8 * GIB }),
    [
      { file: "cpu.max", value: "80000 100000" },
      { file: "pids.max", value: "100" },
      { file: "memory.oom.group", value: "1" },
      { file: "memory.swap.max", value: "0" },
      { file: "memory.max", value: String(2 * GIB) },
      { file: "memory.high", value: "max" },
    ],
  );
});

test("limitsFor() writes max without a cap", () => {
  const limits = limitsFor({}, { cpus: 4, memoryBytes: GIB });
  const values = Object.fromEntries(limits.map(({ file, value }) => [file, value]));
  assert.deepEqual(values, {
    "cpu.max": "max 100000",
    "pids.max": "max",
    "memory.oom.group": "1",
    "memory.swap.max": "max",
    "memory.max": "max",
    "memory.high": "max",
  });
});

test("limitsFor() lets an OOM kill end a single process under the Process policy", () => {
  assert.equal(valueOf({ oomPolicy: "Process" }, 1, "memory.oom.group"), "0");
  assert.equal(valueOf({ oomPolicy: "Group" }, 1, "memory.oom.group"), "1");
});

test("limitsFor() scales the quota with the CPUs, from 1 to 256", () => {
  assert.equal(valueOf({ cpuPCT: 100 }, 1, "cpu.max"), "100000 100000");
  assert.equal(valueOf({ cpuPCT: 12.5 }, 1, "cpu.max"), "12500 100000");
  assert.equal(valueOf({ cpuPCT: 100 }, 256, "cpu.max"), "25600000 100000");
  assert.equal(valueOf({ cpuPCT: 0.1 }, 256, "cpu.max"), "25600 100000");
});

test("limitsFor() lengthens the period only if the quota would be below a millisecond", () => {
  assert.equal(valueOf({ cpuPCT: 1 }, 1, "cpu.max"), "1000 100000");
  assert.equal(valueOf({ cpuPCT: 0.9 }, 1, "cpu.max"), "1800 200000");
  assert.equal(valueOf({ cpuPCT: 0.3 }, 1, "cpu.max"), "1500 500000");
  assert.equal(valueOf({ cpuPCT: 0.1 }, 1, "cpu.max"), "1000 1000000");
});

test("limitsFor() always returns a quota and period that the kernel accepts and that match the percentage", () => {
  for (const cpus of [1, 2, 3, 7, 64, 256]) {
    for (let percent = 0.1; percent <= 100; percent += 0.37) {
      const [quota, period] = valueOf({ cpuPCT: percent }, cpus, "cpu.max")!.split(" ").map(Number);
      assert.ok(quota! >= 1000 && period! >= 1000 && period! <= 1_000_000, `${percent}% of ${cpus}`);
      const enforced = quota! / period! / cpus * 100;
      assert.ok(Math.abs(enforced - percent) / percent < 0.001, `${percent}% of ${cpus} became ${enforced}%`);
    }
  }
});

test("limitsFor() refuses a CPU cap below the kernel's minimum", () => {
  assert.throws(() => valueOf({ cpuPCT: 0.05 }, 1, "cpu.max"), {
    name: "CgroupError",
    message: "cannot cap the CPU at 0.05%: the smallest cap is 0.1% on 1 CPU",
    code: "ERANGE",
  });
  assert.equal(valueOf({ cpuPCT: 0.05 }, 2, "cpu.max"), "1000 1000000");
});

test("limitsFor() refuses invalid percentages", () => {
  for (const percent of [0, -1, 100.01, NaN, Infinity]) {
    assert.throws(() => limitsFor({ cpuPCT: percent }, { cpus: 1, memoryBytes: GIB }), CgroupError);
    assert.throws(() => limitsFor({ memPCT: percent }, { cpus: 1, memoryBytes: GIB }), CgroupError);
  }
});

test("limitsFor() rounds memory down to whole pages", () => {
  const odd = 2_088_620_032;
  const bytes = Number(valueOf({ memPCT: 33.3 }, 1, "memory.max", odd));
  assert.equal(bytes % 65_536, 0);
  assert.ok(bytes <= odd * 0.333 && odd * 0.333 - bytes < 65_536);
});

test("limitsFor() refuses a memory cap of less than a page", () => {
  assert.throws(() => limitsFor({ memPCT: 0.0001 }, { cpus: 1, memoryBytes: GIB }), {
    message: "cannot cap the memory at 0.0001%: that is less than one page (65536 bytes) of 1073741824 bytes",
  });
});

test("limitsFor() refuses a pidsMax that the kernel would refuse", () => {
  for (const pidsMax of [0, -5, 1.5, 4_194_305, NaN]) {
    assert.throws(() => limitsFor({ pidsMax }, { cpus: 1, memoryBytes: GIB }), /cannot cap the processes at/);
  }
  assert.equal(valueOf({ pidsMax: 4_194_304 }, 1, "pids.max"), "4194304");
});

test("splitByControllers() returns the caps that a tree without controllers cannot enforce", () => {
  const limits = limitsFor({ cpuPCT: 20, pidsMax: 10 }, { cpus: 1, memoryBytes: GIB });
  const { enforced, unenforced } = splitByControllers(limits, ["pids"]);
  assert.deepEqual(enforced, [{ file: "pids.max", value: "10" }]);
  assert.deepEqual(unenforced, [{ file: "cpu.max", value: "20000 100000" }]);
  assert.deepEqual(splitByControllers(limitsFor({}, { cpus: 1, memoryBytes: GIB }), []), {
    enforced: [],
    unenforced: [],
  });
});

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { parseCpuTimes, parseMemory, parsePressure, parseThreads } from "../../src/node/proc.ts";
import { createUsageReader } from "../../src/node/usage.ts";
import { tempFolder } from "../temp-folder.ts";

const stat = (user: number, idle: number, iowait = 0) =>
  `cpu  ${user} 0 0 ${idle} ${iowait} 0 0 0 0 0\ncpu0 ${user} 0 0 ${idle} ${iowait} 0 0 0 0 0\nintr 1\n`;
const meminfo = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\nBuffers:  5 kB\n";

async function withProc(
  use: (proc: string, write: (path: string, text: string) => Promise<void>) => Promise<void>,
) {
  using temp = tempFolder();
  const proc = temp.path;
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(proc, path)), { recursive: true });
    await writeFile(join(proc, path), text);
  };
  await write("stat", stat(100, 300));
  await write("meminfo", meminfo);
  await use(proc, write);
}

test("createUsageReader() measures CPU between two readings and memory by what is available", async () => {
  await withProc(async (procDir, write) => {
    const reader = createUsageReader({ procDir });
    assert.equal((await reader()).cpuPCT, 25);
    await write("stat", stat(190, 310));
    const { cpuPCT, memPCT, memoryBytes, memoryAvailableBytes, memoryTotalBytes } = await reader();
    assert.deepEqual({ cpuPCT, memPCT, memoryBytes, memoryAvailableBytes, memoryTotalBytes }, {
      cpuPCT: 90,
      memPCT: 60,
      memoryBytes: 600 * 1024,
      memoryAvailableBytes: 400 * 1024,
      memoryTotalBytes: 1000 * 1024,
    });
  });
});

test("createUsageReader() keeps the last share if no time has passed, and stays within 0 to 100", async () => {
  await withProc(async (procDir, write) => {
    const reader = createUsageReader({ procDir });
    await reader();
    await write("stat", stat(150, 350));
    assert.equal((await reader()).cpuPCT, 50);
    assert.equal((await reader()).cpuPCT, 50);
    // Idle time may go backwards when a CPU is unplugged.
    await write("stat", stat(400, 340));
    assert.equal((await reader()).cpuPCT, 100);
  });
});

test("createUsageReader() reads pressure, threads and disk if available, and works without them", async () => {
  await withProc(async (procDir, write) => {
    const bare = await createUsageReader({ procDir })();
    assert.deepEqual([bare.memoryStallPCT, bare.threads, bare.maxThreads, bare.disk], [
      undefined,
      0,
      Infinity,
      undefined,
    ]);
    await write(
      "pressure/memory",
      "some avg10=9.50 avg60=1 avg300=1 total=1\nfull avg10=4.25 avg60=1 avg300=1 total=1\n",
    );
    await write("loadavg", "9.11 7.90 5.77 13/276 30085\n");
    await write("sys/kernel/pid_max", "32768\n");
    await write("sys/kernel/threads-max", "1000\n");
    const { memoryStallPCT, threads, maxThreads, disk } = await createUsageReader({
      procDir,
      diskPath: procDir,
    })();
    assert.deepEqual([memoryStallPCT, threads, maxThreads], [4.25, 276, 1000]);
    assert.ok(disk && disk.totalBytes >= disk.availableBytes && disk.totalBytes > 0);
  });
});

test("createUsageReader() reads this machine", async () => {
  const usage = await createUsageReader({ diskPath: "/" })();
  assert.ok(usage.memPCT > 0 && usage.memPCT < 100 && usage.threads > 1 && usage.disk);
});

test("createUsageReader() names what it cannot read", async () => {
  await assert.rejects(createUsageReader({ procDir: "/no/such" })(), /ENOENT.*\/no\/such\/stat/);
});

test("parseCpuTimes() counts stolen time as busy and waiting for disks as idle", () => {
  assert.deepEqual(parseCpuTimes("cpu  1 2 3 40 50 6 7 8 1 2\nrest"), { busy: 27, total: 117 });
  assert.throws(() => parseCpuTimes("cpux 1\n"), /cpux 1/);
});

test("parseMemory() names the missing line", () => {
  assert.throws(() => parseMemory("MemTotal: 10 kB\n"), /MemAvailable/);
});

test("parsePressure() and parseThreads() read the kernel's formats", () => {
  assert.deepEqual(parsePressure("some avg10=1.50 avg60=0.10 avg300=0.00 total=9\n"), { some: 1.5, full: 0 });
  assert.equal(parsePressure(""), undefined);
  assert.equal(parseThreads("0.00 0.01 0.05 1/123 456"), 123);
});

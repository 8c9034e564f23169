import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { readHardware, readHardwareInChild } from "../../src/node/hardware.ts";

test("readHardware() reads the processor of this machine", async () => {
  const { cpu, manufacturer, model } = await readHardware();
  assert.ok(cpu.length > 0);
  assert.deepEqual([typeof manufacturer, typeof model], ["string", "string"]);
});

test("readHardwareInChild() reads the output of a program", async () => {
  const hardware = {
    manufacturer: "Raspberry Pi Foundation",
    model: "4B",
    cpu: "Cortex-A72",
  };
  assert.deepEqual(await readHardwareInChild(["/bin/echo", JSON.stringify(hardware)]), hardware);
});

test("readHardwareInChild() names a command that fails, prints no JSON or takes too long", async () => {
  await assert.rejects(readHardwareInChild(["/bin/false"]), /with \/bin\/false/);
  await assert.rejects(readHardwareInChild(["/bin/echo", "hello"]), /with \/bin\/echo hello: .*JSON/s);
  await assert.rejects(readHardwareInChild(["/bin/sleep", "60"], { timeoutMs: 50 }), /with \/bin\/sleep 60/);
  await assert.rejects(readHardwareInChild(["/no/such/program"]), /ENOENT/);
});

test("readHardwareInChild() ends when its signal aborts, so that it does not delay an agent that stops", async () => {
  const stopping = new AbortController();
  const asked = readHardwareInChild(["/bin/sleep", "60"], { signal: stopping.signal });
  stopping.abort();
  await assert.rejects(asked, /abort/);
});

test("no module loads systeminformation before it is needed", async () => {
  const folder = new URL("../../src/", import.meta.url);
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".ts"));
  assert.ok(files.includes("node/hardware.ts"));
  for (const file of files) {
    const source = await readFile(new URL(file, folder), "utf8");
    assert.doesNotMatch(source, /^import (?!type )[^(;]*"systeminformation\b/m, file);
  }
});

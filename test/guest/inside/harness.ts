/** What the harness promises, seen from inside a guest; the last tests run scripts on the guest directly. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import process from "node:process";
import { describe, test } from "node:test";
import { inGuest } from "../../harness/guest.ts";
import { processesNaming } from "../../harness/processes.ts";

const cgroupRoot = process.env.CGROUP_ROOT!;

test("the cgroup root delegates cpu, memory, pids and io", async () => {
  const handedOn = (await readFile(`${cgroupRoot}/cgroup.subtree_control`, "utf8")).trim().split(" ");
  for (const controller of ["cpu", "memory", "pids", "io"]) {
    assert.ok(handedOn.includes(controller), controller);
  }
});

test("a test runs as root, on the checkout's Node, with loopback up", async () => {
  assert.equal(process.getuid?.(), 0);
  assert.match(process.version, /^v26\./);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  server.close();
});

describe("a script that runs on the machine directly", () => {
  process.env.NCKUBELET_GUEST = "direct";

  test("returns its code and its output, and has a cgroup to work in", async () => {
    const script =
      'mkdir "$CGROUP_ROOT/app" && cat "$CGROUP_ROOT/app/cgroup.controllers"; sleep 600 & exit 7';
    const result = await inGuest(script);
    assert.equal(result.code, 7);
    assert.match(result.output, /cpu.*memory.*pids/);
    assert.deepEqual(await testCgroups(), []);
  });

  test("is killed at its time limit with all processes that it started", async () => {
    const result = await inGuest("sleep 987654 & sleep 987654", { timeoutMs: 2000 });
    assert.deepEqual(result, { code: 124, output: "", timedOut: true });
    assert.deepEqual(await processesNaming("987654"), []);
    assert.deepEqual(await testCgroups(), []);
  });
});

async function testCgroups(): Promise<string[]> {
  return (await readdir(cgroupRoot)).filter((name) => name.startsWith("nckubelet-test-"));
}

/** What the harness promises of scripts that run on a machine directly: here on a guest. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import process from "node:process";
import { describe, test } from "node:test";
import { inGuest } from "../../harness/guest.ts";
import { processesNaming } from "../../harness/processes.ts";

const cgroupRoot = process.env.CGROUP_ROOT!;

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

/** The machine that install.ts left, after a reboot. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { capsOf, listing, listingFile, read, runningApps, shell } from "./installed-machine.ts";

let apps: Record<string, number>;

test("after a reboot the agent and all apps are back, within their caps", async () => {
  apps = await runningApps();
  assert.equal(read("systemctl is-active nckubelet"), "active");
  for (const pid of Object.values(apps)) {
    const { cpuMax, memoryShare } = capsOf(pid);
    assert.deepEqual([cpuMax, memoryShare], ["20000 100000", 10]);
  }
});

test("uninstall --purge leaves no process, unit, file or cgroup", () => {
  const { code, output } = shell("nckubelet-uninstall.sh --purge");
  assert.equal(code, 0, output);
  assert.ok(Object.values(apps).every((pid) => !existsSync(`/proc/${pid}`)), "no app is left");
  assert.deepEqual(listing(), JSON.parse(readFileSync(listingFile, "utf8")));
});

/** The machine that install.ts or install-openrc.ts left, after a reboot. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import {
  checkServiceAndJob,
  hasSystemd,
  keptListing,
  listing,
  read,
  runningApps,
  shell,
  startAppBelow,
} from "./installed-machine.ts";

let apps: Record<string, number>;

test("after a reboot the agent and all apps are back, within their caps", async () => {
  apps = await runningApps(hasSystemd ? 21 : 4);
  if (hasSystemd) assert.equal(read("systemctl is-active nckubelet"), "active");
  else assert.match(read("rc-service nckubelet status"), /started/);
});

test(
  "the shutdown gave apps their stop file and grace period, and a service that ended with 0 runs again",
  checkServiceAndJob,
);

test("uninstall --purge leaves no process, service, file or cgroup, below whichever roots the apps were started", async () => {
  const elsewhere = await startAppBelow("/sys/fs/cgroup/edge");
  const { code, output } = shell("nckubelet-uninstall.sh --purge");
  assert.equal(code, 0, output);
  assert.ok(
    [...Object.values(apps), elsewhere].every((pid) => !existsSync(`/proc/${pid}`)),
    "no app is left",
  );
  assert.deepEqual(listing(), keptListing());
});

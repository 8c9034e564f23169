/** install.sh on a fresh machine, then an upgrade and a rollback under running apps. */
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { test } from "node:test";
import {
  install,
  keepListing,
  listing,
  read,
  releasesAreServed,
  runningApps,
  shell,
  startServiceAndJob,
  writeApps,
} from "./installed-machine.ts";
import { waitFor } from "../../wait-for.ts";

const appCount = 20;
const agentPid = () => read("systemctl show -p MainPID --value nckubelet");
const digest = () => read("sha256sum </usr/local/bin/nckubelet");
let apps: Record<string, number>;
let released: string;

test("install.sh names the package of a missing library and changes nothing", async () => {
  read("systemd-run --quiet --unit=release-server /share/busybox httpd -f -p 127.0.0.1:8000 -h /share");
  await releasesAreServed();
  const before = listing();
  const { code, output } = install("release-1");
  assert.equal(code, 1);
  assert.match(output, /^install: libatomic\.so\.1 is missing: apt-get install libatomic1/m);
  assert.deepEqual(listing(), before);
});

test("curl | sh starts an agent that is healthy and runs the apps of the manifests folder within their caps", async () => {
  copyFileSync("/share/libatomic.so.1", "/usr/lib/x86_64-linux-gnu/libatomic.so.1");
  keepListing();
  writeApps(appCount);
  const { code, output } = install("release-1");
  assert.equal(code, 0, output);
  assert.match(output, /nckubelet ps\b[^]*nckubelet run\b[^]*systemctl status nckubelet/);
  assert.equal(read("systemctl is-active nckubelet"), "active");
  assert.equal(read("systemctl is-enabled nckubelet"), "enabled");
  assert.equal(read("curl -fsS http://127.0.0.1:10268/healthz"), "ok");
  apps = await runningApps(appCount);
  assert.equal(read(`cat /proc/${agentPid()}/oom_score_adj`), "-900");
  assert.match(read(`cat /proc/${agentPid()}/limits`), /^Max open files +\d+ +524288 /m);
  assert.equal(read(`cat /proc/${apps["app-0"]}/oom_score_adj`), "0");
});

test("a second run does nothing, and the agent does not notice", async () => {
  const pid = agentPid();
  const { code, output } = install("release-1");
  assert.equal(code, 0, output);
  assert.match(output, /^install: .*nothing to do\n$/);
  assert.equal(agentPid(), pid);
});

test("an upgrade changes the executable and the agent, and no process of any app", async () => {
  const [pid, before] = [agentPid(), digest()];
  released = before;
  const { code, output } = install("release-2");
  assert.equal(code, 0, output);
  assert.notEqual(agentPid(), pid);
  assert.notEqual(digest(), before);
  assert.deepEqual(await runningApps(appCount), apps);
});

test("one command rolls back to the previous executable, and no app notices", async () => {
  const pid = agentPid();
  assert.match(read("nckubelet-rollback.sh"), /now running nckubelet/);
  assert.notEqual(agentPid(), pid);
  assert.equal(digest(), released);
  assert.deepEqual(await runningApps(appCount), apps);
});

test("an agent that takes too much memory is killed and starts again, and no app notices", async () => {
  const setting = (name: string) => read(`systemctl show -p ${name} --value nckubelet`);
  const [pid, usual] = [agentPid(), setting("MemoryMax")];
  assert.match(usual, /^\d+$/);
  // Less than it has.
  read("systemctl set-property --runtime nckubelet MemoryMax=4M");
  await waitFor("the agent is killed", () => ![pid, "0"].includes(agentPid()), 120_000);
  read(`systemctl set-property --runtime nckubelet MemoryMax=${usual}`);
  await waitFor("the agent answers", () => shell("nckubelet ps").code === 0, 120_000);
  assert.notEqual(setting("NRestarts"), "0");
  assert.deepEqual(await runningApps(appCount), apps);
});

test("a service and a job run when the machine shuts down", startServiceAndJob);

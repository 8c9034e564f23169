/** install.sh on a machine where OpenRC runs the services. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { waitFor } from "../../wait-for.ts";
import {
  install,
  keepListing,
  read,
  releasesAreServed,
  runningApps,
  shell,
  startServiceAndJob,
  writeApps,
} from "./installed-machine.ts";

const appCount = 3;
/** The agent itself, not the daemon that restarts it. */
const agentPid = () => Number(read("pgrep -o -f '^/usr/local/bin/nckubelet agent'"));
/** Waits for a new agent: supervise-daemon starts it after rc-service has ended. */
const nextAgent = (old: number) =>
  waitFor("another agent", () => {
    const { output } = shell("pgrep -o -f '^/usr/local/bin/nckubelet agent'");
    return output !== "" && Number(output) !== old && Number(output);
  }, 60_000);
const runlevel = () => read("rc-update show default");
let apps: Record<string, number>;

test("curl | sh makes OpenRC start an agent that runs the apps of the manifests folder within their caps", async () => {
  const web = spawn("/share/busybox", ["httpd", "-f", "-p", "127.0.0.1:8000", "-h", "/share"], {
    stdio: "ignore",
  });
  web.unref();
  await releasesAreServed();
  keepListing();
  writeApps(appCount);
  const { code, output } = install("release-1");
  assert.equal(code, 0, output);
  assert.match(output, /nckubelet ps\b[^]*rc-service nckubelet status/);
  assert.match(read("rc-service nckubelet status"), /started/);
  assert.match(runlevel(), /nckubelet \| default/);
  assert.equal(read("curl -fsS http://127.0.0.1:10268/healthz"), "ok");
  apps = await runningApps(appCount);
  assert.match(readFileSync(`/proc/${agentPid()}/limits`, "utf8"), /^Max open files +\d+ +524288 /m);
});

test("a second run does nothing, and the agent does not notice", () => {
  const pid = agentPid();
  const { code, output } = install("release-1");
  assert.equal(code, 0, output);
  assert.match(output, /nothing to do\n$/);
  assert.equal(agentPid(), pid);
});

test("rc-service restart changes the agent, and no process of any app", async () => {
  const pid = agentPid();
  read("rc-service nckubelet restart");
  await nextAgent(pid);
  assert.deepEqual(await runningApps(appCount), apps);
});

test("OpenRC restarts an agent that is killed, and no app notices", async () => {
  const pid = agentPid();
  process.kill(pid, "SIGKILL");
  await nextAgent(pid);
  assert.deepEqual(await runningApps(appCount), apps);
});

test("an upgrade and a rollback change the agent, and no process of any app", async () => {
  assert.equal(install("release-2").code, 0);
  const upgraded = agentPid();
  assert.deepEqual(await runningApps(appCount), apps);
  assert.match(read("nckubelet-rollback.sh"), /now running nckubelet/);
  assert.notEqual(agentPid(), upgraded);
  assert.deepEqual(await runningApps(appCount), apps);
});

test("rc-service stop leaves the apps alone", async () => {
  read("rc-service nckubelet stop");
  assert.ok(Object.values(apps).every((pid) => existsSync(`/proc/${pid}`)), "all apps are there");
  read("rc-service nckubelet start");
  assert.deepEqual(await runningApps(appCount), apps);
});

test("a service and a job run when the machine shuts down", startServiceAndJob);

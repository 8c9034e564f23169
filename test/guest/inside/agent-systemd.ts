/**
 * The agent as a systemd service: apps are no part of it, so restarts, a stop and daemon-reloads do not touch them.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "../../wait-for.ts";

const manifests = "/etc/nckubelet/manifests";
const app = "/sys/fs/cgroup/nckubelet.slice/nckubelet-apps.scope/default_web";

const systemctl = (...words: string[]) => execFileSync("systemctl", words, { encoding: "utf8" });
const healthy = () => fetch("http://127.0.0.1:10268/healthz").then((answer) => answer.ok, () => false);
const web = async () => {
  const answer = await fetch("http://127.0.0.1:10268/apps/default/web").catch(() => undefined);
  return answer?.status === 200
    ? await answer.json() as { status: { phase: string; pid: number; restarts: number } }
    : undefined;
};
const limits = () =>
  ["cpu.max", "memory.max", "pids.max"].map((file) => readFileSync(`${app}/${file}`, "utf8").trim());

test("an app keeps its process and its limits through 10 restarts of the agent's service and 10 daemon-reloads", async () => {
  mkdirSync(manifests, { recursive: true });
  writeFileSync("/opt/web.sh", "#!/bin/sh\nwhile :; do sleep 1; done\n", { mode: 0o755 });
  writeFileSync(
    `${manifests}/web.json`,
    JSON.stringify({
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata: { name: "web" },
      spec: { shellFile: "/opt/web.sh", cpuPCT: 20, memPCT: 10 },
    }),
  );
  writeFileSync(
    "/etc/systemd/system/nckubelet.service",
    `[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/share/nckubelet agent --standalone --manifests ${manifests}\n`,
  );
  systemctl("daemon-reload");
  systemctl("start", "nckubelet");
  const first = await waitFor("web runs", async () => {
    const found = await web();
    return found?.status.phase === "Running" ? found : undefined;
  }, 120_000);
  const before = limits();
  assert.equal(before[0], "20000 100000");
  assert.equal(systemctl("show", "nckubelet-apps.scope", "-p", "ActiveState", "--value").trim(), "active");

  for (let round = 0; round < 10; round++) {
    systemctl("restart", "nckubelet");
    systemctl("daemon-reload");
    await waitFor("the agent answers", healthy, 120_000);
    const now = await waitFor("web is known", web, 60_000);
    assert.deepEqual(
      [now.status.pid, now.status.restarts, limits()],
      [first.status.pid, 0, before],
      `round ${round}`,
    );
  }
  systemctl("stop", "nckubelet");
  assert.ok(existsSync(`/proc/${first.status.pid}`), "a stop of the agent leaves the app alone");
  systemctl("stop", "nckubelet-apps.scope");
  assert.ok(!existsSync(`/proc/${first.status.pid}`), "a stop of the scope ends all apps");
});

test("a scope that was stopped under a running agent is recreated, and its apps come back under their limits", async () => {
  systemctl("start", "nckubelet");
  const isUp = async () => {
    const found = await web();
    return found?.status.phase === "Running" ? found : undefined;
  };
  const before = await waitFor("web runs again", isUp, 120_000);
  systemctl("stop", "nckubelet-apps.scope");
  const after = await waitFor("web runs in a new scope", async () => {
    const found = await isUp();
    return found && found.status.pid !== before.status.pid ? found : undefined;
  }, 120_000);
  assert.equal(limits()[0], "20000 100000");
  assert.ok(existsSync(`/proc/${after.status.pid}`));
  systemctl("stop", "nckubelet", "nckubelet-apps.scope");
});

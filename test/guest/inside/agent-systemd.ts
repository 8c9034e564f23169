/**
 * The agent as a systemd service: apps are no part of it, so restarts, a stop and daemon-reloads do not touch them.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { manifest } from "../../builders.ts";
import { waitFor } from "../../wait-for.ts";

const manifests = "/etc/nckubelet/manifests";
const app = "/sys/fs/cgroup/nckubelet.slice/nckubelet-apps.scope/default_web";

const systemctl = (...words: string[]) => execFileSync("systemctl", words, { encoding: "utf8" });
const healthy = () => fetch("http://127.0.0.1:10268/healthz").then((answer) => answer.ok, () => false);
const tokenFile = "/var/lib/nckubelet/token";
const appOf = async (name: string) => {
  if (!existsSync(tokenFile)) return undefined;
  const headers = { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` };
  const answer = await fetch(`http://127.0.0.1:10268/apps/default/${name}`, { headers }).catch(() =>
    undefined
  );
  return answer?.status === 200 ? await answer.json() as { status: AppStatus } : undefined;
};
const web = () => appOf("web");
interface AppStatus {
  phase: string;
  pid: number;
  restarts: number;
  conditions?: { type: string; status: string }[];
}
const limits = () =>
  ["cpu.max", "memory.max", "pids.max"].map((file) => readFileSync(`${app}/${file}`, "utf8").trim());

function manifestOf(name: string, spec: object): string {
  return JSON.stringify(manifest(name, spec));
}

function installService(): void {
  // The agent searches for strays with a sync, but not again for 30 s: the first one shall come when `su` has moved them.
  mkdirSync(manifests, { recursive: true });
  writeFileSync(
    "/etc/systemd/system/nckubelet.service",
    `[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/share/nckubelet agent --standalone --sync-period 5s --manifests ${manifests}\nExecReload=/bin/kill -HUP $MAINPID\n`,
  );
  systemctl("daemon-reload");
}

test("an app keeps its process and its limits through 10 restarts of the agent's service and 10 daemon-reloads", async () => {
  installService();
  writeFileSync("/opt/web.sh", "#!/bin/sh\nwhile :; do sleep 1; done\n", { mode: 0o755 });
  writeFileSync(
    `${manifests}/web.json`,
    manifestOf("web", { shellFile: "/opt/web.sh", cpuPCT: 20, memPCT: 10, backoffSeconds: 0 }),
  );
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
  const mainPid = () => systemctl("show", "nckubelet", "-p", "MainPID", "--value").trim();
  const agent = mainPid();
  const log = () => execFileSync("journalctl", ["-u", "nckubelet", "--no-pager"], { encoding: "utf8" });
  systemctl("reload", "nckubelet");
  await waitFor("the agent has reloaded", () => log().includes("reloaded: manifests"), 60_000);
  assert.equal(mainPid(), agent);
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

test("a larger reserve kills no app: the cap of all apps together follows what they use", async () => {
  const scope = "/sys/fs/cgroup/nckubelet.slice/nckubelet-apps.scope";
  const capOf = () => Number(readFileSync(`${scope}/memory.max`, "utf8"));
  const known = () => Number(systemctl("show", "nckubelet-apps.scope", "-p", "MemoryMax", "--value"));
  const restart = async () => {
    systemctl("restart", "nckubelet");
    await waitFor("the agent answers", healthy, 120_000);
    return await waitFor("web runs", web, 120_000);
  };
  writeFileSync("/opt/web.sh", "#!/bin/sh\nhead -c 100M /dev/zero >/dev/shm/web\nexec sleep 600\n");
  writeFileSync(`${manifests}/web.json`, manifestOf("web", { shellFile: "/opt/web.sh", backoffSeconds: 0 }));
  systemctl("start", "nckubelet");
  const before = await waitFor("web has its memory", async () => {
    const found = await web();
    if (found?.status.phase !== "Running") return undefined;
    return Number(readFileSync(`${app}/memory.current`, "utf8")) > 100 << 20 ? found : undefined;
  }, 120_000);
  const whole = capOf();
  const dropIn = "/etc/systemd/system/nckubelet.service.d";
  mkdirSync(dropIn);
  writeFileSync(`${dropIn}/reserve.conf`, "[Service]\nEnvironment=NCKUBELET_RESERVED_MEM_PCT=97\n");
  systemctl("daemon-reload");
  assert.equal((await restart()).status.pid, before.status.pid);
  assert.ok(capOf() > 100 << 20 && capOf() < whole, `${capOf()} of ${whole}`);
  assert.equal(known(), capOf());
  rmSync("/dev/shm/web");
  assert.equal((await restart()).status.pid, before.status.pid);
  assert.ok(capOf() < 100 << 20, `${capOf()}`);
  assert.equal(known(), capOf());
  rmSync(dropIn, { recursive: true });
  systemctl("daemon-reload");
  systemctl("stop", "nckubelet", "nckubelet-apps.scope");
});

test("what `su -` starts in a session of its own stays under the app's limits, keeps the app running and ends with it", async () => {
  installService();
  // `su` as the last thing that lives, `su` that leaves a daemon behind, and one that leaves no trace of where it came from.
  const commands = {
    waits: "exec sleep 300",
    daemon: "sleep 300 & echo $! >/tmp/daemon.pid",
    hidden: "env -i setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $! >/tmp/hidden.pid",
  };
  for (const [name, command] of Object.entries(commands)) {
    const inside = `echo $$ >/tmp/${name}.pid; cat /proc/self/cgroup >/tmp/${name}.cgroup; ${command}`;
    writeFileSync(`/opt/${name}.sh`, `#!/bin/sh\nsu - -s /bin/sh daemon -c '${inside}'\n`, { mode: 0o755 });
    const spec = { shellFile: `/opt/${name}.sh`, cpuPCT: 20, terminationGracePeriodSeconds: 1 };
    writeFileSync(`${manifests}/${name}.json`, manifestOf(name, spec));
  }
  rmSync(`${manifests}/web.json`, { force: true });
  systemctl("start", "nckubelet");
  const pids: number[] = [];
  for (const name of Object.keys(commands)) {
    const pid = await waitFor(`${name} is back in its cgroup`, () => {
      const pid = existsSync(`/tmp/${name}.cgroup`) && readFileSync(`/tmp/${name}.pid`, "utf8").trim();
      const cgroup = pid && existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cgroup`, "utf8") : "";
      return cgroup.includes(`/default_${name}/`) ? Number(pid) : undefined;
    }, 120_000);
    assert.match(readFileSync(`/tmp/${name}.cgroup`, "utf8"), /session/, "PAM had moved it");
    const app = await appOf(name);
    assert.deepEqual([app?.status.phase, app?.status.restarts], ["Running", 0], name);
    const enforced = app?.status.conditions?.find(({ type }) => type === "LimitsEnforced");
    assert.equal(enforced?.status, "True", name);
    pids.push(pid);
  }
  for (const name of Object.keys(commands)) rmSync(`${manifests}/${name}.json`);
  await waitFor("all have ended", () => pids.every((pid) => !existsSync(`/proc/${pid}`)), 60_000);
  systemctl("stop", "nckubelet", "nckubelet-apps.scope");
});

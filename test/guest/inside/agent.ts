/**
 * The whole agent on a real cgroup v2 kernel: caps hold, are resized live, outlive the agent, and OOM kills are reported correctly.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { NCApp, NCAppSpec } from "../../../src/api/types.ts";
import { type AgentProcess, startAgentProcess } from "../../agent-process.ts";
import { manifest } from "../../builders.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";

const temp = tempFolder();
const folder = temp.path;
let agent: AgentProcess;

before(async () => {
  agent = await startAgentProcess([
    "--standalone",
    "--manifests",
    folder,
    "--sync-period",
    "1s",
    "--report-period",
    "2s",
  ]);
});

after(async () => {
  await agent[Symbol.asyncDispose]();
  temp.remove();
});

async function script(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text, { mode: 0o755 });
  return path;
}

async function apply(name: string, spec: NCAppSpec): Promise<void> {
  const app = manifest(name, { terminationGracePeriodSeconds: 3, ...spec });
  await writeFile(join(folder, `${name}.json`), JSON.stringify(app));
}

async function remove(name: string): Promise<void> {
  await rm(join(folder, `${name}.json`));
  await waitFor(
    `${name} is gone`,
    async () => (await fetch(`${agent.url}/apps/default/${name}`)).status === 404,
  );
}

async function reach(
  name: string,
  what: string,
  isThere: (app: NCApp) => boolean,
  timeoutMs = 60_000,
): Promise<NCApp> {
  let last: unknown;
  return await waitFor(`${name}: ${what}`, async () => {
    const answer = await fetch(`${agent.url}/apps/default/${name}`);
    const app = await answer.json() as NCApp;
    last = app;
    return answer.status === 200 && isThere(app) ? app : undefined;
  }, timeoutMs).catch((error) => {
    throw new Error(`${error.message}; it is ${JSON.stringify(last)}\n${agent.log()}`);
  });
}

/** The app's cgroup, by one of its processes. */
async function cgroupOf(pid: number): Promise<string> {
  const line = (await readFile(`/proc/${pid}/cgroup`, "utf8")).trim().split("\n").at(-1) ?? "";
  return join("/sys/fs/cgroup", line.slice("0::".length), "..");
}

const isRunning = ({ status }: NCApp) => status?.phase === "Running";
const limits = async (cgroup: string) =>
  await Promise.all(
    ["cpu.max", "memory.max", "memory.swap.max", "pids.max"].map(async (file) =>
      (await readFile(join(cgroup, file), "utf8").catch(() => "none")).trim()
    ),
  );

test("a capped app has its caps in its cgroup before it runs, and its usage is reported against them", async () => {
  const shellFile = await script(
    "busy.sh",
    "#!/bin/sh\ncat /sys/fs/cgroup/$(sed s/^0::// /proc/self/cgroup)/../cpu.max\nwhile :; do :; done\n",
  );
  await apply("busy", { shellFile, cpuPCT: 20, memPCT: "5", pidsMax: 64 });
  const { status } = await reach("busy", "Running", isRunning);
  const cgroup = await cgroupOf(status!.pid!);
  const memory = Math.floor(totalmem() * 0.05 / 65_536) * 65_536;
  assert.deepEqual(await limits(cgroup), [
    "20000 100000",
    String(memory),
    await readFile(join(cgroup, "memory.swap.max"), "utf8").then(() => "0", () => "none"),
    "64",
  ]);
  const log = join(agent.folder, "log/default_busy/app.log");
  const seen = await waitFor("the script's own look", async () => await readFile(log, "utf8") || undefined);
  assert.equal(seen.trim(), "20000 100000");
  const used = await reach(
    "busy",
    "its use is near its cap",
    ({ status }) => Math.abs(Number(status?.cpuPCT) - 20) < 3,
  );
  assert.ok(Number(used.status?.cpuThrottledPCT) > 0);
  assert.equal(used.status?.conditions?.find(({ type }) => type === "LimitsEnforced")?.status, "True");
});

test("a resize is live: same process, new caps, new usage", async () => {
  const { status } = await reach("busy", "Running", isRunning);
  await apply("busy", { shellFile: join(folder, "busy.sh"), cpuPCT: 40, memPCT: "10", pidsMax: 64 });
  const cgroup = await cgroupOf(status!.pid!);
  await waitFor("cpu.max is 40000", async () => (await limits(cgroup))[0] === "40000 100000");
  const after = await reach(
    "busy",
    "its use follows",
    ({ status }) => Math.abs(Number(status?.cpuPCT) - 40) < 5,
  );
  assert.deepEqual([after.status?.pid, after.status?.restarts], [status?.pid, 0]);
});

test("an agent that is killed and restarted finds the same process under the same caps", async () => {
  const { status } = await reach("busy", "Running", isRunning);
  const cgroup = await cgroupOf(status!.pid!);
  const before = await limits(cgroup);
  await agent.kill("SIGKILL");
  await agent.start();
  const after = await reach("busy", "Running", isRunning);
  assert.deepEqual([after.status?.pid, after.status?.restarts, await limits(cgroup)], [
    status?.pid,
    0,
    before,
  ]);
});

test("the next sync restores a cap that was overwritten", async () => {
  const { status } = await reach("busy", "Running", isRunning);
  const cgroup = await cgroupOf(status!.pid!);
  await writeFile(join(cgroup, "cpu.max"), "max");
  await waitFor("cpu.max is back", async () => (await limits(cgroup))[0] === "40000 100000");
  await remove("busy");
});

test("an app that takes too much memory dies as a whole, OOMKilled by the kernel's own count, and its neighbor survives", async () => {
  await apply("calm", { shellFile: await script("calm.sh", "#!/bin/sh\nexec sleep 600\n") });
  const calm = await reach("calm", "Running", isRunning);
  const root = join(await cgroupOf(calm.status!.pid!), "..");
  assert.match(await readFile(join(root, "memory.max"), "utf8"), /^\d+$/m, "all apps together have a cap");
  const shellFile = await script("greedy.sh", "#!/bin/sh\nsleep 600 &\necho hungry\ntail /dev/zero\n");
  await apply("greedy", { shellFile, memPCT: 4, restartPolicy: "Never" });
  const { status } = await reach("greedy", "Failed", ({ status }) => status?.phase === "Failed");
  assert.deepEqual([status?.reason, status?.lastExit?.reason, status?.lastExit?.code], [
    "OOMKilled",
    "OOMKilled",
    137,
  ]);
  assert.ok((status?.oomKills ?? 0) >= 1);
  assert.match(status?.lastExit?.message ?? "", /hungry/);
  const still = await reach("calm", "Running", isRunning);
  assert.deepEqual([still.status?.pid, still.status?.restarts], [calm.status?.pid, 0]);
  await remove("greedy");
  await remove("calm");
});

test("memory that an app leaves behind at its end counts against its cap in the next run", async () => {
  const cap = 0.04 * totalmem();
  const part = Math.floor(cap / 3);
  const text = `#!/bin/sh\nhead -c ${part} /dev/zero >/dev/shm/left.$$\nexit $?\n`;
  await apply("leaver", {
    shellFile: await script("leaver.sh", text),
    memPCT: 4,
    backoffSeconds: 0,
    maxBackoffSeconds: 1,
  });
  await reach("leaver", "OOMKilled", ({ status }) => {
    assert.ok((status?.restarts ?? 0) < 12, `${status?.restarts} runs left ${part} bytes each`);
    return status?.lastExit?.reason === "OOMKilled";
  });
  const names = (await readdir("/dev/shm")).filter((name) => name.startsWith("left."));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join("/dev/shm", name))).size));
  const sum = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(sum <= cap, `${sum} bytes are left, the cap is ${cap}`);
  await remove("leaver");
  for (const name of names) await rm(join("/dev/shm", name));
});

test("shrinking memory below the usage kills nothing: it is pending until it fits", async () => {
  // Above its new cap, the kernel delays every process that the app starts, by seconds: the shell waits and frees by itself.
  const go = join(agent.folder, "release");
  execFileSync("mkfifo", [go]);
  const shellFile = await script(
    "holder.sh",
    `#!/bin/sh\nhead -c 60000000 /dev/urandom >/dev/shm/held\necho held\nread -r _ <${go}\n: >/dev/shm/held\nexec sleep 600\n`,
  );
  await apply("holder", { shellFile, memPCT: 40 });
  const { status } = await reach("holder", "Running", isRunning);
  await waitFor(
    "it holds the memory",
    async () => (await readFile(join(agent.folder, "log/default_holder/app.log"), "utf8")).includes("held"),
  );
  await apply("holder", { shellFile, memPCT: 2 });
  const limitsOf = ({ status }: NCApp) => status?.conditions?.find(({ type }) => type === "LimitsEnforced");
  const waiting = await reach("holder", "ResizePending", (app) => limitsOf(app)?.reason === "ResizePending");
  assert.deepEqual([limitsOf(waiting)?.status, waiting.status?.pid], ["False", status?.pid]);
  await writeFile(go, "\n");
  const done = await reach("holder", "enforced", (app) => limitsOf(app)?.status === "True");
  assert.deepEqual([done.status?.pid, done.status?.oomKills], [status?.pid, 0]);
  await remove("holder");
});

test("the agent answers during a fork bomb under pidsMax, which is gone soon after it is deleted", async () => {
  const shellFile = await script("bomb.sh", "#!/bin/sh\nbomb() { bomb | bomb & }\nbomb\nsleep 600\n");
  await apply("bomb", { shellFile, pidsMax: 40, cpuPCT: 50, terminationGracePeriodSeconds: 1 });
  await reach("bomb", "Running", isRunning);
  for (let round = 0; round < 20; round++) {
    assert.equal(await (await fetch(`${agent.url}/healthz`)).text(), "ok");
  }
  await remove("bomb");
});

test("an app whose cap no kernel can enforce is not started, and its status explains why", async () => {
  await apply("tiny", { shellFile: join(folder, "calm.sh"), cpuPCT: "0.0001" });
  const { status } = await reach("tiny", "Pending", ({ status }) => status?.reason === "LimitsUnavailable");
  assert.match(status?.message ?? "", /0\.0001/);
  await remove("tiny");
});

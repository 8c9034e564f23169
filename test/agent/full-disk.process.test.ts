import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readStat } from "../../src/supervisor/processes.ts";
import { startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import { listLog } from "../supervisor/logs/log-files.ts";
import { mountTmpfs } from "../harness/tmpfs.ts";
import { waitFor } from "../wait-for.ts";

test("a log stays within its limits while no agent runs, and an agent starts on a full disk with the apps that run there", async (t) => {
  const { folder, disk } = mountTmpfs(t, "size=4m");
  if (!disk) return t.skip("no file system can be mounted here");

  const [manifests, go, said] = [join(folder, "manifests"), join(folder, "go"), join(folder, "said")];
  await mkdir(manifests);
  const shellFile = join(folder, "app.sh");
  const script = `#!/bin/sh
until [ -e ${go} ]; do sleep 0.05; done
yes | head -c 8000000
echo filled >>${said}
while :; do echo more; sleep 0.1; done\n`;
  await writeFile(shellFile, script, { mode: 0o755 });
  const app = manifest("app", { shellFile, terminationGracePeriodSeconds: 1 });
  await writeFile(join(manifests, "app.json"), JSON.stringify(app));
  const folders = ["--state-dir", join(disk, "state"), "--log-dir", join(disk, "log")];
  await using agent = await startAgentProcess(
    ["--standalone", "--manifests", manifests, ...folders, "--log-max-size", "64Ki", "--log-max-files", "2"],
  );
  const status = async () => {
    const answer = await fetch(`${agent.url}/apps/default/app`);
    return answer.ok ? (await answer.json() as { status: { phase: string; pid: number } }).status : undefined;
  };
  const before = await waitFor("the app runs", async () => {
    const now = await status();
    return now?.phase === "Running" && now;
  });

  await agent.kill("SIGKILL");
  await writeFile(go, "");
  const wrote = async () => (await readFile(said, "utf8").catch(() => "")).includes("filled");
  await waitFor("it wrote twice what the disk has", wrote);
  const log = join(disk, "log/default_app");
  await waitFor(
    "its last line",
    async () => (await readFile(join(log, "app.log"), "utf8")).endsWith("more\n"),
  );
  const parts = (await listLog(log)).map(({ text }) => text.length);
  assert.ok(parts.length === 2 && parts.every((size) => size <= 65_536), `parts of ${parts} bytes`);
  await agent.start();
  assert.equal((await waitFor("the app is known", status)).pid, before.pid);

  // Nothing of this can be freed.
  await agent.kill("SIGKILL");
  spawnSync("dd", ["if=/dev/zero", `of=${join(disk, "foreign")}`]);
  assert.equal(statfsSync(disk).bavail, 0);
  await agent.start();
  assert.equal((await waitFor("the app is known", status)).pid, before.pid);
  await waitFor("the agent reports the disk", async () => {
    const ready = await fetch(`${agent.url}/readyz?verbose`);
    return ready.status !== 200 && (await ready.text()).includes("0 MiB free");
  });
  await rm(join(disk, "foreign"));

  await rm(join(manifests, "app.json"));
  await waitFor("the app is gone", async () => await status() === undefined);
  assert.equal(readStat(before.pid), undefined);
});

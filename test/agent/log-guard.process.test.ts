import assert from "node:assert/strict";
import { existsSync, readlinkSync, rmSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readStat } from "../../src/supervisor/processes.ts";
import { startAgentProcess } from "../agent-process.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const keepBytes = 2 * 64 * 1024;

test("while no agent runs, an app's log stays bounded; the next agent ends the guard and reads whole lines", async (t) => {
  const folder = tempFolder(t).path;
  const [manifests, go] = [join(folder, "manifests"), join(folder, "go")];
  await mkdir(manifests);
  const shellFile = join(folder, "app.sh");
  const script = `#!/bin/sh
until [ -e ${go} ]; do sleep 0.02; done
seq -f "line %.0f is whole" 100000
rm ${go}
exec sleep infinity\n`;
  await writeFile(shellFile, script, { mode: 0o755 });
  const app = { metadata: { name: "app" }, spec: { shellFile, terminationGracePeriodSeconds: 1 } };
  const manifest = { apiVersion: "app.example.com/v1alpha1", kind: "NCApp", ...app };
  await writeFile(join(manifests, "app.json"), JSON.stringify(manifest));
  await using agent = await startAgentProcess(
    ["--standalone", "--manifests", manifests, "--log-max-size", "64Ki", "--log-max-files", "2"],
  );
  const log = join(agent.folder, "log/default_app/app.log");
  const link = join(agent.folder, "state/log-guard");
  const runningPid = () =>
    waitFor("the app runs", async () => {
      const answer = await fetch(`${agent.url}/apps/default/app`);
      const { status } = await answer.json() as { status?: { phase: string; pid: number } };
      return status?.phase === "Running" && status.pid;
    });
  const pid = await runningPid();
  assert.ok(!existsSync(link) && !agent.log().includes("cannot bound"));

  // Deno reports no status of a process that it has signaled.
  assert.ok([0, null].includes(await agent.kill("SIGTERM")));
  const guard = Number(readlinkSync(link).split(" ")[1]);
  await writeFile(go, "");
  await waitFor("the app has written", () => !existsSync(go));
  assert.ok(statSync(log).size > 8 * keepBytes);
  await waitFor("the guard frees space", () => statSync(log).blocks * 512 <= keepBytes + 4096);
  assert.ok(readStat(guard));

  await agent.start();
  assert.equal(readStat(guard), undefined);
  assert.ok(!existsSync(link));
  assert.equal(await runningPid(), pid);
  const text = await (await fetch(`${agent.url}/apps/default/app/logs`)).text();
  const [first = 0, ...lines] = text.split("\n").slice(0, -1)
    .map((line) => Number(/^line (\d+) is whole$/.exec(line)?.[1]));
  assert.ok(text.length > 64 * 1024, `${text.length} bytes`);
  assert.equal(lines.at(-1), 100_000);
  assert.deepEqual(lines, lines.map((_, i) => first + i + 1));

  rmSync(join(manifests, "app.json"));
  await waitFor("the app is gone", async () => (await fetch(`${agent.url}/apps/default/app`)).status === 404);
  await agent.kill("SIGTERM");
  assert.ok(!existsSync(link), "no guard is left where no app runs");
});

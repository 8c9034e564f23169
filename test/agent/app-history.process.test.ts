import assert from "node:assert/strict";
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { History } from "../../src/server/view.ts";
import { startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

test("the chart of a new agent has what its predecessor measured", async () => {
  using temp = tempFolder();
  const manifests = join(temp.path, "manifests");
  await mkdir(manifests);
  const shellFile = join(temp.path, "app.sh");
  await writeFile(shellFile, "#!/bin/sh\nexec sleep 300\n", { mode: 0o755 });
  await writeFile(join(manifests, "app.json"), JSON.stringify(manifest("app", { shellFile })));
  await using agent = await startAgentProcess(["--standalone", "--manifests", manifests]);
  const history = () => agent.command("history", "app", "--socket", agent.socket);
  await waitFor("it runs", async () => /Started/.test((await history()).stdout));
  await agent.kill("SIGKILL");
  const seconds = Math.floor(Date.now() / 1000);
  await appendFile(
    join(agent.folder, "state/history/default_app.jsonl"),
    `\n{"t":${seconds},"u":[12.5,3,null]}`,
  );
  await agent.start();
  const cpu = await waitFor("the chart is filled", async () => {
    const { apps } = await (await fetch(`${agent.url}/history`)).json() as History;
    return apps["default/app"]?.cpuPCT.filter((share) => share === 12.5);
  });
  assert.ok(cpu.length >= 28, `${cpu.length} samples`);
});

test("a new agent knows why an app ended under the one that was killed", async () => {
  using temp = tempFolder();
  const manifests = join(temp.path, "manifests");
  await mkdir(manifests);
  const shellFile = join(temp.path, "app.sh");
  await writeFile(shellFile, "#!/bin/sh\necho no route to host\nexit 7\n", { mode: 0o755 });
  await writeFile(
    join(manifests, "app.json"),
    JSON.stringify(manifest("app", { shellFile, restartPolicy: "Never" })),
  );
  await using agent = await startAgentProcess(["--standalone", "--manifests", manifests]);
  const ask = async (...words: string[]) => (await agent.command(...words, "--socket", agent.socket)).stdout;
  const history = () => ask("history", "app");
  await waitFor("its end", async () => /Ended with status 7/.test(await history()));
  await agent.kill("SIGKILL");
  await agent.start();
  const told = await history();
  assert.match(told, /Started \S+app.sh as process \d+\n/);
  assert.match(told, /Ended with status 7: Error, after \d+s\n {4}\| no route to host\n/);
  assert.match(await ask("events", "--since", "1d", "app"), /Exited/);
  assert.match(await ask("describe", "app"), /Events:\n(.*\n)* +Warning +Exited/);
});

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

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

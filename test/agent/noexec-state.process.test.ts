import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startAgentProcess } from "../agent-process.ts";
import { builtLauncher } from "../harness/launcher.ts";
import { skipUnless } from "../harness/parts.ts";
import { mountTmpfs } from "../harness/tmpfs.ts";
import { waitFor } from "../wait-for.ts";

test("on a state folder where nothing can be executed, apps start by the launcher beside the program", {
  skip: skipUnless("compilers"),
}, async (t) => {
  await builtLauncher();
  const { folder, disk } = mountTmpfs(t, "noexec");
  if (!disk) return t.skip("no file system can be mounted here");

  const shellFile = join(folder, "app.sh");
  await writeFile(shellFile, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
  await using agent = await startAgentProcess(["--standalone"], { stateDir: join(disk, "state") });
  const { code, stderr } = await agent.command("run", shellFile, "--name", "app", "--socket", agent.socket);
  assert.equal(code, 0, stderr);
  await waitFor("it runs", async () => {
    const answer = await fetch(`${agent.url}/apps/default/app`);
    return answer.ok && (await answer.json()).status?.phase === "Running";
  });
  const { launcher } = await (await fetch(`${agent.url}/status`)).json();
  t.after(() => rm(launcher.message));
  assert.equal(launcher.kind, "native");
  assert.match(launcher.message, /\/nckubelet-launcher-[0-9a-f]{12}$/);
  assert.deepEqual(
    await agent.command("exec", "--socket", agent.socket, "app", "--", "sh", "-c", "echo $NCAPP_NAME"),
    { code: 0, stdout: "app\n", stderr: "" },
  );
});

/** The commands on a real cgroup v2 kernel, as root. */
import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type AgentProcess, startAgentProcess } from "../../agent-process.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";

let agent: AgentProcess;
/** Every user may read the scripts here. */
const temp = tempFolder();
const scripts = temp.path;

before(async () => {
  await chmod(scripts, 0o755);
  agent = await startAgentProcess(["--standalone", "--report-period", "2s"]);
});

after(async () => {
  await agent[Symbol.asyncDispose]();
  temp.remove();
});

const command = (name: string, ...words: string[]) => agent.command(name, "--socket", agent.socket, ...words);

async function script(name: string, text: string): Promise<string> {
  const path = join(scripts, name);
  await writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

test("run enforces a CPU cap, and top shows usage against that cap", async () => {
  const busy = await script("busy.sh", "while :; do :; done");
  const started = await command(
    "run",
    busy,
    "--cpu",
    "15",
    "--mem",
    "20",
    "--user",
    "nobody",
    "--workdir",
    "/",
  );
  assert.match(started.stdout, /^default\/busy is running/, started.stderr);
  await waitFor("its use", async () => {
    const { stdout } = await command("top");
    const used = Number(/^default\/busy +Running +([\d.]+)\/15%/m.exec(stdout)?.[1]);
    return used > 5 && used < 25;
  }, 60_000);
});

test("exec enters the app's cgroup as its user", async () => {
  const { code, stdout, stderr } = await command(
    "exec",
    ...["--state-dir", join(agent.folder, "state"), "busy", "--"],
    ...["sh", "-c", "id -un; cat /proc/self/cgroup"],
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^nobody\n(?:.*\n)*0::\/.*\/default_busy\//);
});

test("an app killed by its memory cap is reported by run and describe", async () => {
  const hungry = await script("hungry.sh", "echo hungry; tail /dev/zero");
  const { code, stdout, stderr } = await command(
    "run",
    hungry,
    "--mem",
    "5",
    "--restart",
    "never",
    "--attach",
  );
  // The status of the script: SIGKILL.
  assert.deepEqual([code, stdout], [137, "hungry\n"]);
  assert.match(stderr, /default\/hungry is Failed: .*OOMKilled; see 'nckubelet logs hungry'/);
  assert.match((await command("describe", "hungry")).stdout, /^ {2}Reason: +OOMKilled$/m);
});

test("doctor passes cgroup v2", async () => {
  const { stdout } = await command("doctor", "--standalone");
  assert.match(stdout, /^OK +cgroup v2 +the agent enforces caps$/m);
  assert.match(stdout, /^OK +agent +version/m);
});

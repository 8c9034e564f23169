/** exec gives its own standard streams away, so it is called as a program. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startTestAgent, type TestAgent } from "./test-agent.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const runtime = "deno" in process.versions ? ["run", "--allow-all", "--no-check", "--quiet", main] : [main];

async function exec({ socket, stateDir }: TestAgent, words: string[], input = "") {
  const env = { PATH: process.env.PATH, NCKUBELET_SOCKET: socket, NCKUBELET_STATE_DIR: stateDir };
  const child = spawn(process.execPath, [...runtime, "exec", ...words], { env, stdio: "pipe" });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text) => stderr += text);
  child.stdin.end(input);
  const [code] = await once(child, "close") as [number | null];
  return { code, stdout, stderr };
}

test("exec runs a command in the app's environment and folder, with its streams and exit code", async () => {
  await using agent = await startTestAgent();
  const script = await agent.script("inside.sh", "exec sleep 600");
  await agent.command("run", script, "-e", "COLOUR=blue", "--workdir", agent.folder);
  const words = ["inside", "--", "sh", "-c", 'read line; echo "$line $COLOUR $PWD"; echo err >&2; exit 7'];
  assert.deepEqual(await exec(agent, words, "hello\n"), {
    code: 7,
    stdout: `hello blue ${agent.folder}\n`,
    stderr: "err\n",
  });
  await agent.command("stop", "inside");
  const stopped = await exec(agent, ["inside", "--", "id"]);
  assert.deepEqual([stopped.code, stopped.stdout], [1, ""]);
  assert.match(stopped.stderr, /default\/inside is Pending.*nothing to enter; 'nckubelet start inside'/);
});

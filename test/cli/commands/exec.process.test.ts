/** exec passes its standard streams on, so it runs as a process. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { shellQuote } from "../../../src/lib/shell.ts";
import { builtLauncher } from "../../harness/launcher.ts";
import { skipUnless } from "../../harness/parts.ts";
import { program } from "../own-program.ts";
import { startTestAgent, type TestAgent } from "../test-agent.ts";

function exec(agent: TestAgent, words: string[], input = "") {
  return run(agent, [...program, "exec", ...words], input);
}

/** The same on a terminal, which script(1) creates. */
function execOnTerminal(agent: TestAgent, words: string[], input: string) {
  const command = [...program, "exec", ...words].map(shellQuote).join(" ");
  return run(agent, ["script", "-qec", command, "/dev/null"], input);
}

/** Only the socket is given; the agent reports where its records are. */
async function run({ socket }: TestAgent, [file = "", ...args]: string[], input: string) {
  const env = { PATH: process.env.PATH, NCKUBELET_SOCKET: socket, SHELL: "/bin/sh" };
  const child = spawn(file, args, { env, stdio: "pipe" });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text) => stderr += text);
  child.stdin.end(input);
  const [code] = await once(child, "close") as [number | null];
  return { code, stdout, stderr };
}

test("exec runs a command with the app's environment and folder, passes on streams and exit code, and accepts -it", async () => {
  await using agent = await startTestAgent();
  const script = await agent.script("inside.sh", "exec sleep 600");
  await agent.command("run", script, "-e", "COLOUR=blue", "--workdir", agent.folder);
  const words = ["inside", "--", "sh", "-c", 'read line; echo "$line $COLOUR $PWD"; echo err >&2; exit 7'];
  assert.deepEqual(await exec(agent, words, "hello\n"), {
    code: 7,
    stdout: `hello blue ${agent.folder}\n`,
    stderr: "err\n",
  });
  const own = await exec(agent, ["inside", "--", "sh", "-c", "cat /proc/$NCAPP_PID/cmdline | tr '\\0' ' '"]);
  assert.equal(own.stdout, "sleep 600 ", "$NCAPP_PID is the main process");
  for (const switches of [["-it"], ["-i", "-t"], ["--stdin", "--tty"]]) {
    const { stdout } = await exec(agent, [...switches, "inside", "--", "cat"], "hello\n");
    assert.equal(stdout, "hello\n", `${switches}`);
  }
  assert.equal((await exec(agent, ["-it", "inside", "echo", "-t", "-n", "x"])).stdout, "-t -n x\n");
  await agent.command("stop", "inside");
  const stopped = await exec(agent, ["inside", "--", "id"]);
  assert.deepEqual([stopped.code, stopped.stdout], [1, ""]);
  assert.match(
    stopped.stderr,
    /default\/inside is Stopped .*'nckubelet start inside' starts it again\), not running/,
  );
});

test("exec enters the app by the native launcher, which says what it cannot execute", {
  skip: skipUnless("compilers"),
}, async () => {
  await builtLauncher();
  await using agent = await startTestAgent();
  await agent.command("run", await agent.script("inside.sh", "exec sleep 600"));
  assert.deepEqual(await exec(agent, ["inside", "--", "no-such-command"]), {
    code: 127,
    stdout: "",
    stderr: "nckubelet: cannot execute no-such-command: not found\n",
  });
});

test("exec uses the state folder that is named, whether or not the agent answers", async () => {
  await using agent = await startTestAgent();
  await agent.command("run", await agent.script("inside.sh", "exec sleep 600"));
  const silent = ["--socket", "/none.sock", "--state-dir", agent.stateDir];
  assert.equal((await exec(agent, [...silent, "inside", "--", "echo", "here"])).stdout, "here\n");
  const wrong = await exec(agent, ["--state-dir", agent.folder, "inside", "--", "true"]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /default\/inside has no record in .*: name the agent's folder with --state-dir/);
});

test("exec on a terminal gives the command a terminal of its own, with keys and exit code", {
  skip: !existsSync("/usr/bin/script") && "no script(1) here",
}, async () => {
  await using agent = await startTestAgent();
  await agent.command("run", await agent.script("inside.sh", "exec sleep 600"));
  const inner = 'test -t 0 && test -t 1 && : </dev/tty && tty && read line && echo "got $line"; exit 5';
  const { code, stdout } = await execOnTerminal(agent, ["inside", "--", "sh", "-c", inner], "typed\n");
  assert.equal(code, 5);
  assert.match(stdout, /pts\/\d+\s+(?:.*\s+)?got typed/);
});

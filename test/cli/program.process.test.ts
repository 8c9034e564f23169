/** What only a process can show: relative folders, and standard streams that go away. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { shellQuote } from "../../src/lib/shell.ts";
import { readStat } from "../../src/supervisor/processes.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { call } from "./call.ts";
import { program } from "./own-program.ts";
import { startTestAgent } from "./test-agent.ts";

/** Keeps everything in the folder that it is started in. */
const agentWords = [
  ...["agent", "--standalone", "--stop-apps-on-exit", "--listen", "", "--socket", "agent.sock"],
  ...["--state-dir", "./state", "--log-dir", "log", "--cgroup-root", "none", "--node-name", "test-node"],
];
const env = { PATH: process.env.PATH, SHELL: "/bin/sh" };

interface RunningAgent {
  child: ChildProcess;
  folder: string;
  command(...words: string[]): ReturnType<typeof call>["done"];
  /** Runs an app that lives until it is stopped, and returns its pid. */
  runApp(): Promise<number>;
}

/** Runs an agent in a temporary folder by the given command line; everything it started is ended at the end. */
async function withAgent(words: string[], use: (agent: RunningAgent) => Promise<void>): Promise<void> {
  using temp = tempFolder();
  const folder = temp.path;
  const [file = "", ...args] = words;
  const child = spawn(file, args, { cwd: folder, env, stdio: "pipe" });
  const ended = once(child, "close");
  let [output, app] = ["", 0];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => output += text);
  }
  const command: RunningAgent["command"] = (...words) =>
    call(words, { env: { NCKUBELET_SOCKET: join(folder, "agent.sock") } }).done;
  try {
    await waitFor("the agent serves", () => {
      if (child.exitCode !== null) throw new Error(`the agent ended:\n${output}`);
      return output.includes("agent.sock");
    });
    await use({
      child,
      folder,
      command,
      async runApp() {
        const script = join(folder, "app.sh");
        await writeFile(script, "#!/bin/sh\necho hello\nexec sleep 600\n", { mode: 0o755 });
        const { code, stderr } = await command("run", script);
        assert.deepEqual([code, stderr], [0, ""]);
        const { stdout } = await command("ps", "-o", "json");
        return app = JSON.parse(stdout).items[0].status.pid;
      },
    });
  } finally {
    child.kill("SIGTERM");
    await ended;
    if (isThere(app)) process.kill(app, "SIGKILL");
  }
}

function isThere(pid: number): boolean {
  return pid > 0 && readStat(pid) !== undefined;
}

test("an agent with relative folders keeps them where it was started", async () => {
  await withAgent([...program, ...agentWords], async ({ folder, runApp }) => {
    assert.ok(isThere(await runApp()));
    const log = join(folder, "log/default_app/app.log");
    assert.equal(await waitFor("a line of the log", () => readFile(log, "utf8")), "hello\n");
  });
});

test("an agent that loses its terminal stops its apps with --stop-apps-on-exit", {
  skip: !existsSync("/usr/bin/script") && "no script(1) here",
}, async () => {
  const line = `exec ${[...program, ...agentWords].map(shellQuote).join(" ")}`;
  await withAgent(["script", "-qec", line, "/dev/null"], async ({ child, folder, runApp }) => {
    const app = await runApp();
    // Without its master the terminal hangs up, and every write to it fails with EIO.
    child.kill("SIGKILL");
    await waitFor("the app is stopped", () => !isThere(app), 20_000);
    const isLocked = () => lstatSync(join(folder, "state/agent.lock"), { throwIfNoEntry: false });
    await waitFor("the agent has closed", () => !isLocked(), 20_000);
  });
});

test("an agent under nohup goes on when its terminal closes, with its apps: it reloads", {
  skip: !existsSync("/usr/bin/script") && "no script(1) here",
}, async () => {
  const agent = [...program, ...agentWords].map(shellQuote).join(" ");
  const isUp = "until grep -q agent.sock agent.log; do sleep 0.1; done; echo agent.sock";
  const line = `nohup ${agent} >agent.log 2>&1 & echo $! >agent.pid; ${isUp}; wait`;
  await withAgent(["script", "-qec", line, "/dev/null"], async ({ child, folder, command, runApp }) => {
    const pid = Number(await readFile(join(folder, "agent.pid"), "utf8"));
    try {
      const app = await runApp();
      child.kill("SIGKILL");
      const log = () => readFile(join(folder, "agent.log"), "utf8");
      await waitFor("the hang-up is a reload", async () => (await log()).includes("reloaded: "), 20_000);
      assert.equal(JSON.parse((await command("ps", "-o", "json")).stdout).items[0].status.pid, app);
      process.kill(pid, "SIGTERM");
      await waitFor("the app is stopped, as by every SIGTERM", () => !isThere(app), 20_000);
    } finally {
      if (isThere(pid)) process.kill(pid, "SIGTERM");
      await waitFor("the agent has ended", () => !isThere(pid), 20_000);
    }
  });
});

test("an agent whose stderr is closed keeps working and stops as usual", async () => {
  await withAgent([...program, ...agentWords], async ({ child, command, runApp }) => {
    const app = await runApp();
    child.stderr?.destroy();
    assert.equal((await command("restart", "app")).code, 0);
    assert.equal(isThere(app), false);
    const again = JSON.parse((await command("ps", "-o", "json")).stdout).items[0].status.pid;
    // Deno considers every child that it has signaled as killed, so the signal is sent directly.
    process.kill(child.pid!, "SIGTERM");
    assert.deepEqual(await once(child, "exit"), [0, null]);
    assert.equal(isThere(again), false);
  });
});

for (
  const { reader, readBy } of [
    { reader: "pipe", readBy: (words: string) => ["sh", "-c", `${words} 2>&1 | head -n 1`] },
    // In its own session it gets no SIGHUP: only its writes fail.
    {
      reader: "terminal",
      readBy: (words: string) => ["script", "-qec", `exec setsid -w ${words}`, "/dev/null"],
    },
  ]
) {
  test(`run --attach stops the app when both of its streams lose their ${reader}`, {
    skip: reader === "terminal" && !existsSync("/usr/bin/script") && "no script(1) here",
  }, async () => {
    await using agent = await startTestAgent();
    const script = await agent.script("ticker.sh", "while echo tick; do sleep 0.05; done");
    const words = [...program, "run", "--attach", "--socket", agent.socket, script].map(shellQuote).join(" ");
    const [file = "", ...args] = readBy(words);
    const child = spawn(file, args, { env, stdio: "pipe" });
    child.stdout.setEncoding("utf8").once("data", (text) => {
      assert.match(text, /^tick\r?\n/);
      if (reader === "terminal") child.kill("SIGKILL");
    });
    await once(child, "close");
    const stateOfApp = async () => {
      const { status } = JSON.parse((await agent.command("ps", "-o", "json")).stdout).items[0];
      return `${status.phase} ${status.reason}`;
    };
    await waitFor(
      "the app is stopped",
      async () => await stateOfApp() === "Stopped StoppedByOperator",
      20_000,
    );
  });
}

test("a reader that pauses gets all of the output", async () => {
  const words = [...program, "manifests", "--server-minor", "36"].map(shellQuote).join(" ");
  const reader = "{ dd bs=1 count=1 2>/dev/null; sleep 1; cat; }";
  const shell = spawn("sh", ["-c", `${words} | ${reader}`], { env, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  shell.stdout.setEncoding("utf8").on("data", (text) => output += text);
  await once(shell, "close");
  // A pipe holds 65536 bytes.
  assert.ok(output.length > 70_000, `only ${output.length} bytes`);
});

test("output to a full disk is an error of one line", async () => {
  const words = [...program, "version"].map(shellQuote).join(" ");
  const shell = spawn("sh", ["-c", `${words} >/dev/full`], { env, stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  shell.stderr.setEncoding("utf8").on("data", (text) => output += text);
  const [code] = await once(shell, "close");
  assert.equal(code, 1);
  assert.match(output, /^nckubelet: .*(?:ENOSPC|No space left).*\n$/);
});

test("tools/nckubelet keeps --env-file for the command: Node has a flag of that name, too", async () => {
  const wrapper = fileURLToPath(new URL("../../tools/nckubelet", import.meta.url));
  const child = spawn(wrapper, ["run", "/bin/true", "--env-file", "none.env"], { env, stdio: "pipe" });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => stderr += text);
  const [code] = await once(child, "close");
  assert.match(stderr, /^nckubelet: --env-file none.env: no such file\n/);
  assert.equal(code, 2);
});

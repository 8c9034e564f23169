import { spawn } from "node:child_process";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { constants } from "node:os";
import process from "node:process";
import { isatty } from "node:tty";
import { appKey } from "../../api/names.ts";
import { errorCode, readIfThere } from "../../lib/files.ts";
import { cleanPath, shellQuote } from "../../lib/shell.ts";
import { insideCommand } from "../../supervisor/run/run.ts";
import { folderName, recordPath, runFolder } from "../../supervisor/layout.ts";
import { decodeRecord } from "../../supervisor/records/records.ts";
import type { AppRecord } from "../../supervisor/types.ts";
import { type AgentClient, appFlags, type AppName, connectAgent, oneApp } from "../agent-api/agent-api.ts";
import { agentFlags, readAgentSettings } from "../config/config.ts";
import { type Command, type Invocation, type Io, UsageError } from "../command.ts";

/** Runs a command inside of an app: in its cgroup, as its user, with its environment, in its folder. */
export const execCommand: Command = {
  name: "exec",
  summary: "Run a command inside of an app.",
  operands: "APP -- COMMAND [ARG...]",
  ownOperands: 1,
  flags: {
    ...appFlags,
    "state-dir": { ...agentFlags["state-dir"]!, default: "what the agent says" },
    // What kubectl and docker have to be told is so anyway: the streams are handed over, and a terminal is seen.
    stdin: { kind: "switch", short: "i", help: "Standard input for the command, which it always has." },
    tty: {
      kind: "switch",
      short: "t",
      help: "A terminal for the command, which it has wherever exec has one.",
    },
  },
  examples: ["nckubelet exec -it web -- sh", "nckubelet exec shop/web -- cat /proc/self/cgroup"],
  async run(invocation, io) {
    const [word, ...command] = invocation.args;
    const name = oneApp({ ...invocation, args: word === undefined ? [] : [word] });
    if (command.length === 0) {
      throw new UsageError(`no command is given: nckubelet exec ${word} -- COMMAND`);
    }
    const client = await connectAgent(invocation, io);
    const stateDir = await findStateDir(invocation, io, client);
    const record = await readRecord(stateDir, name);
    if (!record) {
      await client.get(name);
      throw new Error(
        `the agent keeps ${
          appKey(name.namespace, name.name)
        } elsewhere than in ${stateDir}: name its --state-dir`,
      );
    }
    if (record.phase !== "Running" || !record.run) {
      const why = record.message && ` (${record.message})`;
      throw new Error(
        `${appKey(name.namespace, name.name)} is ${record.phase}${why}: there is nothing to enter; ` +
          `'nckubelet start ${word}' starts an app that was stopped`,
      );
    }
    const words = await insideCommand(runFolder({ stateDir, logDir: "" }, record.run.id), command);
    const terminal = isatty(0) && isatty(1) && await findScript();
    return await runAndWait(terminal ? onTerminal(words) : words, { ...io, forward: !terminal });
  },
};

/** The folder that was named, else what the agent says; while none answers, what its config says. */
async function findStateDir({ flags }: Invocation, { env }: Io, client: AgentClient): Promise<string> {
  const named = flags["state-dir"] ?? env.NCKUBELET_STATE_DIR;
  if (typeof named === "string") return named;
  const status = await client.status().catch(() => undefined);
  return status?.stateDir ?? (await readAgentSettings({}, env)).stateDir;
}

/** The record that the agent keeps of an app: only its user may read it, and only that user may enter the app. */
async function readRecord(stateDir: string, { namespace, name }: AppName): Promise<AppRecord | undefined> {
  const path = recordPath({ stateDir, logDir: "" }, folderName(namespace, name));
  try {
    const text = await readIfThere(path);
    return text === undefined ? undefined : decodeRecord(text);
  } catch (cause) {
    if (errorCode(cause) === "EACCES") {
      throw new Error(`${path} is not yours: try again as the agent's user, such as with sudo`, { cause });
    }
    throw new Error(`cannot read ${path}: ${errorCode(cause)}`, { cause });
  }
}

const scriptPath = "/usr/bin/script";

/** script(1) makes the terminal: part of util-linux, as are setsid and setpriv, but some systems leave it out. */
function findScript(): Promise<boolean> {
  return access(scriptPath).then(() => true, () => false);
}

/**
 * A terminal of its own: on ours, the app's user could type for us (TIOCSTI). It is that of the session which script(1)
 * begins, so the command must not begin another one.
 */
function onTerminal(words: string[]): string[] {
  const inside = words.toSpliced(words.indexOf("setsid"), 1);
  return [scriptPath, "-qec", `exec ${inside.map(shellQuote).join(" ")}`, "/dev/null"];
}

async function runAndWait(
  [file = "", ...args]: string[],
  { env, signal, forward }: Pick<Io, "env" | "signal"> & { forward: boolean },
): Promise<number> {
  const { TERM } = env;
  const child = spawn(file, args, {
    cwd: "/",
    env: { PATH: cleanPath, SHELL: "/bin/sh", ...(TERM ? { TERM } : {}) },
    stdio: "inherit",
  });
  // In a session of its own it does not hear our Ctrl-C; on a terminal the key reaches it as a key.
  const end = () => forward && child.pid !== undefined && endSession(child.pid);
  signal.addEventListener("abort", end, { once: true });
  const [code, killedBy] = await once(child, "exit") as [number | null, NodeJS.Signals | null];
  signal.removeEventListener("abort", end);
  return code ?? 128 + (killedBy ? constants.signals[killedBy] : 0);
}

function endSession(pid: number): void {
  try {
    process.kill(-pid, "SIGTERM");
  } catch {
    // It has ended, or has no session yet and got the signal with us.
  }
}

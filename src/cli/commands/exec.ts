import { spawn } from "node:child_process";
import process from "node:process";
import { isatty } from "node:tty";
import { errorCode, explainFileError, readIfExists } from "../../lib/files.ts";
import { cleanPath } from "../../lib/shell.ts";
import { findEntrance } from "../../supervisor/launcher/launcher.ts";
import {
  execCommandLine,
  exitCodeOf,
  findScriptProgram,
  noTerminal,
  startedPid,
  terminalCommand,
} from "../../supervisor/run/run.ts";
import { appFileName } from "../../api/app-file-name.ts";
import { markPath, recordPath, runFolder } from "../../supervisor/layout.ts";
import { decodeRecord } from "../../supervisor/records/records.ts";
import { statusPid } from "../../supervisor/decide/decide.ts";
import type { AppRecord, Run } from "../../supervisor/types.ts";
import { type AgentClient, appFlags, connectAgent } from "../agent-api/agent-api.ts";
import { type AppName, fullName, oneApp } from "../app-name.ts";
import { agentFlags, readAgentSettings } from "../config/config.ts";
import { type Command, type Invocation, type Io, UsageError } from "../command.ts";

/** Runs a command inside an app: in its cgroup, as its user, with its environment, in its working directory. */
export const execCommand: Command = {
  operands: "APP -- COMMAND [ARG...]",
  ownOperands: 1,
  flags: {
    ...appFlags,
    "state-dir": { ...agentFlags["state-dir"]!, default: "what the agent reports" },
    // Accepted for users of kubectl and docker. Streams are always passed on, and a terminal is detected.
    stdin: { short: "i", help: "Accepted and ignored: the command always gets standard input." },
    tty: { short: "t", help: "Accepted and ignored: the command gets a terminal if exec has one." },
  },
  examples: ["nckubelet exec -it web -- sh", "nckubelet exec shop/web -- cat /proc/self/cgroup"],
  async run(invocation, io) {
    const [word, ...command] = invocation.args;
    const name = oneApp({ ...invocation, args: word === undefined ? [] : [word] });
    const key = fullName(name);
    if (command.length === 0) {
      throw new UsageError(`no command is given: use nckubelet exec ${word} -- COMMAND`);
    }
    const client = await connectAgent(invocation, io);
    const stateDir = await findStateDir(invocation, io, client);
    const record = await readRecord(stateDir, name);
    if (!record) {
      await client.get(name);
      throw new Error(`${key} has no record in ${stateDir}: name the agent's folder with --state-dir`);
    }
    const pid = record.run && pidOf(record.run, stateDir);
    if (!record.run || !isRunning(record, pid)) {
      const why = record.message && ` (${record.message})`;
      const verb = record.app.spec.schedule ? "trigger" : "start";
      const hint = record.stoppedAt
        ? ""
        : `; 'nckubelet ${verb} ${word}' ${verb === "start" ? "starts it" : "runs it now"}`;
      throw new Error(`${key} is ${record.phase}${why}, not running${hint}`);
    }
    const wantsTerminal = isatty(0) && isatty(1);
    const script = wantsTerminal ? await findScriptProgram(`${cleanPath}:${io.env.PATH ?? ""}`) : undefined;
    if (wantsTerminal && !script) io.stderr(`the command gets no terminal: ${noTerminal}\n`);
    const words = await execCommandLine(runFolder({ stateDir, logDir: "" }, record.run.id), command, {
      launcher: await findEntrance(stateDir),
      pid,
      onTerminal: script !== undefined,
    });
    return await runAndWait(script ? terminalCommand(script, words) : words, { ...io, forward: !script });
  },
};

/** The main process of the app. The agent saves within seconds that it has started; the mark of the run says so at once. */
function pidOf(run: Run, stateDir: string): number | undefined {
  return statusPid(run) ?? startedPid(markPath({ stateDir, logDir: "" }, run.id));
}

function isRunning({ phase }: AppRecord, pid: number | undefined): boolean {
  return phase === "Running" || (phase === "Starting" && pid !== undefined);
}

/** Returns the folder that was named, else that of the running agent, else that of the agent's config. */
async function findStateDir({ flags }: Invocation, { env }: Io, client: AgentClient): Promise<string> {
  const named = flags["state-dir"] ?? env.NCKUBELET_STATE_DIR;
  if (typeof named === "string") return named;
  const status = await client.status().catch(() => undefined);
  return status?.stateDir ?? (await readAgentSettings({}, env)).stateDir;
}

/** Reads the agent's record of an app. Only the agent's user can read it, so only that user can enter the app. */
async function readRecord(stateDir: string, { namespace, name }: AppName): Promise<AppRecord | undefined> {
  const path = recordPath({ stateDir, logDir: "" }, appFileName(namespace, name));
  try {
    const text = await readIfExists(path);
    return text === undefined ? undefined : decodeRecord(text);
  } catch (cause) {
    if (errorCode(cause) === "EACCES") {
      throw new Error(`you may not read ${path}: try again as the agent's user, such as with sudo`, {
        cause,
      });
    }
    throw new Error(`cannot read ${path}: ${explainFileError(cause)}`, { cause });
  }
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
  // In its own session the child does not get our Ctrl-C; on a terminal it gets the key itself.
  const end = () => forward && child.pid !== undefined && endSession(child.pid);
  signal.addEventListener("abort", end, { once: true });
  const code = await exitCodeOf(child);
  signal.removeEventListener("abort", end);
  return code;
}

function endSession(pid: number): void {
  try {
    process.kill(-pid, "SIGTERM");
  } catch {
    // It has ended, or it has no session yet and got the signal together with us.
  }
}

/** `nckubelet run`: runs a script as an app of this node's agent, without a cluster. */
import { type AgentClient, connectAgent, type NodeApp, socketFlag } from "../agent-api/agent-api.ts";
import { type AppName, fullName, nameOf, shortName } from "../app-name.ts";
import {
  describeState,
  hasEnded,
  isSettled,
  report,
  waitForApp,
  waitForRemoval,
  waitForStop,
  waitUntilSteady,
  wasDeleted,
} from "../app-state.ts";
import { type Command, type Invocation, type Io, listFlag, textFlag, UsageError } from "../command.ts";
import { printable } from "../screen/screen.ts";
import { readEnvFiles } from "./env-file.ts";
import { checkScript, manifestFlags, manifestOf } from "./run-manifest.ts";

const startTimeoutMs = 15_000;

const hasNoContainer = "an app is no container: it uses the files and ports of the node";
const byMem = "use --mem PERCENT, a share of the node's memory";
const detached = "run returns when the app runs; --attach prints its log until it ends";
/** Those of docker run. */
const otherFlags: Record<string, string> = {
  "-d": detached,
  "--detach": detached,
  "-i": "use --attach for the output, or 'nckubelet exec APP -- sh' for a shell",
  "-t": "use --attach for the output, or 'nckubelet exec APP -- sh' for a shell",
  "-p": hasNoContainer,
  "--publish": hasNoContainer,
  "-v": hasNoContainer,
  "--volume": hasNoContainer,
  "-m": byMem,
  "--memory": byMem,
  "--cpus": "use --cpu PERCENT, a share of all CPUs of the node",
  "-u": "use --user USER",
  "--image": "an app is no container: name its script",
  "--schedule": "write a manifest with schedule, and use 'nckubelet apply -f FILE'",
};

export const runCommand: Command = {
  operands: "SCRIPT [-- ARG...]",
  flags: {
    ...manifestFlags,
    keep: { help: "Keep the app even if it cannot start." },
    attach: { short: "a", help: "Print its log until it ends, and exit with its status; Ctrl-C stops it." },
    rm: { help: "Attach, and remove the app when it has ended; --restart is never then." },
    replace: { help: "Remove an app of this name first." },
    socket: socketFlag,
  },
  otherFlags,
  examples: [
    "nckubelet run ./server.sh --cpu 20 --mem 10",
    "nckubelet run ./backup.sh --restart never --attach -- --full",
    "nckubelet run ./migrate.sh --rm && nckubelet run ./server.sh --replace",
    "nckubelet run ./server.sh --env-file server.env -e PORT=8080",
    "nckubelet run https://example.com/agent.sh --name agent --user nobody -e MODE=quiet",
  ],
  async run(invocation, io) {
    const isRemoved = invocation.flags.rm === true;
    const asked = isRemoved ? withoutRestarts(invocation) : invocation;
    const fromFiles = await readEnvFiles(listFlag(invocation, "env-file"), io.env);
    const app = manifestOf(asked, io.env, { fromFiles });
    // A bare word may be a program.
    const isBare = /^[\w.-]+$/.test(invocation.args[0] ?? "");
    await checkScript(app.spec.shellFile ?? "", isBare ? io.env.PATH : undefined);
    const client = await connectAgent(invocation, io);
    const name = nameOf(app);
    const before = await client.find(name);
    if (before && !invocation.flags.replace) {
      throw new Error(
        `${fullName(name)} exists already: choose another --name, or replace it with --replace`,
      );
    }
    if (before) await remove(client, before, io);
    const { warnings = [] } = await client.put(app);
    for (const warning of warnings) io.stderr(`warning: ${fullName(name)}: ${warning}\n`);
    const isAttached = isRemoved || invocation.flags.attach === true;
    const waitForStart = isAttached ? waitForApp : waitUntilSteady;
    const started = await waitForStart(client, name, isSettled, {
      timeoutMs: startTimeoutMs,
      signal: io.signal,
    });
    const keep = invocation.flags.keep === true;
    if (started && hasFailed(started, isAttached)) {
      return await giveUp(client, name, started, io, { keep });
    }
    if (isAttached) return await attach(client, name, io, { isRemoved });
    return report(started ? describeState(started) : wasDeleted(name), io);
  },
};

/** An app that restarts has no end at which it could be removed. */
function withoutRestarts(invocation: Invocation): Invocation {
  const policy = textFlag(invocation, "restart");
  if (policy === "always") {
    throw new UsageError(
      "--rm removes the app when it has ended, which --restart always prevents: remove one",
    );
  }
  if (invocation.flags.keep) throw new UsageError("use --rm or --keep, not both");
  return { ...invocation, flags: { ...invocation.flags, restart: policy ?? "never" } };
}

/** Removes an app, and waits until nothing of it is left. */
async function remove(client: AgentClient, app: NodeApp, io: Pick<Io, "signal">): Promise<void> {
  await client.remove(nameOf(app));
  const { ok, text } = await waitForRemoval(client, app, io);
  if (!ok) throw new Error(`${fullName(nameOf(app))} was not removed: ${text}`);
}

/** Reports whether the app could not start or, without --attach to show its log, failed at once. */
function hasFailed({ status = {} }: NodeApp, isAttached: boolean): boolean {
  const { phase, reason } = status;
  if (phase === "Pending") return reason !== "" && reason !== "Starting";
  return !isAttached && (phase === "Failed" || phase === "BackOff");
}

/** Says what is wrong, with the last lines of the log, and removes the app: after a correction, the same command works. */
async function giveUp(
  client: AgentClient,
  name: AppName,
  app: NodeApp,
  io: Io,
  { keep }: { keep: boolean },
): Promise<number> {
  io.stderr(`nckubelet: ${describeState(app, { goes: !keep }).text}\n`);
  if (keep) return 1;
  const lines = app.status?.lastExit?.message;
  if (lines) io.stderr(lines.split("\n").map((line) => `  ${printable(line)}\n`).join(""));
  await client.remove(name);
  const { ok, text } = await waitForRemoval(client, app, { signal: io.signal });
  const outcome = ok ? `${fullName(name)} was removed` : text;
  io.stderr(`nckubelet: ${outcome}; --keep keeps an app that cannot start\n`);
  return 1;
}

/** Prints the log until the app has ended or the user presses Ctrl-C, which stops the app. */
async function attach(
  client: AgentClient,
  name: AppName,
  io: Io,
  { isRemoved }: { isRemoved: boolean },
): Promise<number> {
  // Standard output is for the log alone.
  const besideLog = { stdout: (text: string | Uint8Array) => io.stderr(String(text)), stderr: io.stderr };
  const log = client.logs(name, { follow: true, untilEnd: true, signal: io.signal });
  for await (const bytes of log) io.stdout(bytes);
  const app = await client.find(name);
  if (!app) return report(wasDeleted(name), besideLog);
  const isStopped = io.signal.aborted && !hasEnded(app);
  const code = isStopped
    ? await stop(client, app, io, { isRemoved })
    : report({ ...describeState(app, { goes: isRemoved }), ...exitOf(app) }, besideLog);
  // After Ctrl-C, only the timeout limits the wait.
  if (isRemoved) await remove(client, app, { signal: new AbortController().signal });
  return code;
}

/** The exit status of an app that has failed. */
function exitOf({ status: { phase, lastExit } = {} }: NodeApp): { status?: number } {
  return phase === "Failed" ? { status: lastExit?.code || 1 } : {};
}

async function stop(
  client: AgentClient,
  app: NodeApp,
  io: Io,
  { isRemoved }: { isRemoved: boolean },
): Promise<number> {
  const name = nameOf(app);
  const key = fullName(name);
  io.stderr(`\nstopping ${key}\n`);
  await client.act(name, "stop");
  // io.signal has aborted already, so only the timeout limits this wait.
  const { ok, text } = await waitForStop(client, app, { signal: new AbortController().signal });
  const next = isRemoved ? "" : `, 'nckubelet delete ${shortName(name)}' removes it`;
  io.stderr(ok ? `${text}${next}\n` : `nckubelet: ${text}\n`);
  return ok ? 0 : 1;
}

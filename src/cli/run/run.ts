/** `nckubelet run`: runs a script as an app of this node's agent, without a cluster. */
import { type AgentClient, connectAgent, type NodeApp, socketFlag } from "../agent-api/agent-api.ts";
import { type AppName, fullName, nameOf, shortName } from "../app-name.ts";
import { describeState, hasEnded, isSettled, isStopped, stopTimeoutMs, waitForApp } from "../app-state.ts";
import type { Command, Io } from "../command.ts";
import { followAppLog } from "./followed-log.ts";
import { checkScript, manifestFlags, manifestOf } from "./run-manifest.ts";

const startTimeoutMs = 15_000;

export const runCommand: Command = {
  operands: "SCRIPT [-- ARG...]",
  flags: {
    ...manifestFlags,
    attach: { kind: "switch", short: "a", help: "Print its log until it ends; Ctrl-C stops it." },
    socket: socketFlag,
  },
  examples: [
    "nckubelet run ./server.sh --cpu 20 --mem 10",
    "nckubelet run ./backup.sh --restart never --attach -- --full",
    "nckubelet run https://example.com/agent.sh --name agent --user nobody -e MODE=quiet",
  ],
  async run(invocation, io) {
    const app = manifestOf(invocation, io.env);
    await checkScript(app.spec.shellFile ?? "");
    const client = await connectAgent(invocation, io);
    const name = nameOf(app);
    if (await client.find(name)) {
      const key = fullName(name);
      throw new Error(
        `${key} exists already: choose another --name, or use 'nckubelet delete ${shortName(name)}' first`,
      );
    }
    await client.put(app);
    if (invocation.flags.attach) return await attach(client, name, io);
    return report(await waitForStart(client, name, io.signal), io);
  },
};

/** Prints the log until the app has ended or the user presses Ctrl-C, which stops the app. */
async function attach(client: AgentClient, name: AppName, io: Io): Promise<number> {
  const started = await waitForStart(client, name, io.signal);
  if (started?.status?.phase === "Pending") return report(started, io);
  // Standard output is for the log alone.
  const besideLog = { stdout: (text: string | Uint8Array) => io.stderr(String(text)), stderr: io.stderr };
  const log = followAppLog(client, name, { show: (bytes) => io.stdout(bytes), signal: io.signal });
  let ended: NodeApp | undefined;
  try {
    ended = await waitForApp(client, name, hasEnded, { timeoutMs: Infinity, signal: io.signal });
    if (ended && hasEnded(ended)) await log.caughtUp();
  } finally {
    await log.close();
  }
  if (ended && !hasEnded(ended)) return await stop(client, name, ended, io);
  return report(ended, besideLog);
}

async function stop(client: AgentClient, name: AppName, app: NodeApp, io: Io): Promise<number> {
  const key = fullName(name);
  io.stderr(`\nstopping ${key}\n`);
  await client.act(name, "stop");
  // io.signal has aborted already, so only the timeout limits this wait.
  const limits = { timeoutMs: stopTimeoutMs(app), signal: new AbortController().signal };
  await waitForApp(client, name, isStopped, limits);
  const short = shortName(name);
  io.stderr(
    `${key} is stopped; 'nckubelet start ${short}' starts it again, 'nckubelet delete ${short}' removes it\n`,
  );
  return 0;
}

function waitForStart(
  client: AgentClient,
  name: AppName,
  signal: AbortSignal,
): Promise<NodeApp | undefined> {
  return waitForApp(client, name, isSettled, { timeoutMs: startTimeoutMs, signal });
}

function report(app: NodeApp | undefined, io: Pick<Io, "stdout" | "stderr">): number {
  const { ok, text } = app ? describeState(app) : { ok: false, text: "the app was deleted in the meantime" };
  if (ok) io.stdout(`${text}\n`);
  else io.stderr(`nckubelet: ${text}\n`);
  return ok ? 0 : 1;
}

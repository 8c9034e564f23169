import { appKey } from "../../api/names.ts";
import {
  type AgentClient,
  type AppName,
  connectAgent,
  describeState,
  followAppLog,
  hasEnded,
  isSettled,
  isStopped,
  nameOf,
  type NodeApp,
  shortName,
  socketFlag,
  stopTimeoutMs,
  waitForApp,
} from "../agent-api/agent-api.ts";
import type { Command, Io } from "../command.ts";
import { checkScript, manifestFlags, manifestOf } from "./run-manifest.ts";

const startTimeoutMs = 15_000;

/** Makes an app of a script and has the agent run it, with no cluster needed. */
export const runCommand: Command = {
  name: "run",
  summary: "Run a script as an app on this node.",
  operands: "SCRIPT [-- ARG...]",
  flags: {
    ...manifestFlags,
    attach: { kind: "switch", short: "a", help: "Show its log until it ends; Ctrl-C stops it." },
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
      throw new Error(
        `${appKey(name.namespace, name.name)} exists already: choose another --name, or 'nckubelet delete ${
          shortName(name)
        }' first`,
      );
    }
    await client.put(app);
    if (invocation.flags.attach) return await attach(client, name, io);
    return tell(await waitForStart(client, name, io.signal), io);
  },
};

/** Shows the log until the app has ended or Ctrl-C, which stops the app. */
async function attach(client: AgentClient, name: AppName, io: Io): Promise<number> {
  const started = await waitForStart(client, name, io.signal);
  if (started?.status?.phase === "Pending") return tell(started, io);
  // The log alone goes to standard output.
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
  return tell(ended, besideLog);
}

async function stop(client: AgentClient, name: AppName, app: NodeApp, io: Io): Promise<number> {
  const key = appKey(name.namespace, name.name);
  io.stderr(`\nstopping ${key}\n`);
  await client.act(name, "stop");
  // The signal that brought us here has been seen; this wait has an end of its own.
  const patience = { timeoutMs: stopTimeoutMs(app), signal: new AbortController().signal };
  await waitForApp(client, name, isStopped, patience);
  const short = shortName(name);
  io.stderr(
    `${key} is stopped; 'nckubelet start ${short}' starts it again, 'nckubelet delete ${short}' forgets it\n`,
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

function tell(app: NodeApp | undefined, io: Pick<Io, "stdout" | "stderr">): number {
  const { well, text } = app ? describeState(app) : { well: false, text: "the app was removed meanwhile" };
  if (well) io.stdout(`${text}\n`);
  else io.stderr(`nckubelet: ${text}\n`);
  return well ? 0 : 1;
}

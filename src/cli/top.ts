import { sleep } from "../lib/sleep.ts";
import { duration } from "./agent-config.ts";
import { type AgentClient, type AgentStatus, connectAgent, socketFlag } from "./agent-client.ts";
import { type Command, type Io, textFlag, UsageError } from "./command.ts";
import type { NodeApp } from "./node-app.ts";
import { paintFor } from "./paint.ts";
import { topLines } from "./top-screen.ts";

const openScreen = "\x1b[?1049h\x1b[?25l";
const closeScreen = "\x1b[?25h\x1b[?1049l";
const home = "\x1b[H";
const clearLine = "\x1b[K";
const clearBelow = "\x1b[J";

/** Shows what the apps use, the greediest first: in place on a terminal, once anywhere else. */
export const topCommand: Command = {
  name: "top",
  summary: "Watch what the apps use.",
  flags: {
    interval: { kind: "text", value: "TIME", help: "How often to look.", default: "2s" },
    once: { kind: "switch", help: "Print it once, also on a terminal." },
    socket: socketFlag,
  },
  examples: ["nckubelet top", "nckubelet top --interval 500ms", "nckubelet top --once"],
  async run(invocation, io) {
    if (invocation.args.length > 0) {
      throw new UsageError(`top takes no operands, not ${JSON.stringify(invocation.args[0])}`);
    }
    const everyMs = duration("interval", textFlag(invocation, "interval") ?? "2s");
    const client = connectAgent(invocation, io);
    const first = await look(client);
    if (io.columns === 0 || invocation.flags.once) {
      io.stdout(`${topLines(first, { now: Date.now(), paint: paintFor(io) }).join("\n")}\n`);
      return 0;
    }
    io.stdout(openScreen);
    try {
      for (let seen: View | Error = first; !io.signal.aborted; seen = await tryToLook(client)) {
        io.stdout(screen(seen, io));
        await sleep(everyMs, io.signal);
      }
    } finally {
      io.stdout(closeScreen);
    }
    return 0;
  },
};

interface View {
  agent: AgentStatus;
  apps: NodeApp[];
}

async function look(client: AgentClient): Promise<View> {
  const [agent, apps] = await Promise.all([client.status(), client.list()]);
  return { agent, apps };
}

/** An agent that is being restarted is worth waiting for. */
function tryToLook(client: AgentClient): Promise<View | Error> {
  return look(client).catch((error: Error) => error);
}

/** Overwrites what is there, line by line: clearing the screen first would flicker. */
function screen(seen: View | Error, io: Io): string {
  const { columns, rows = 1000 } = io;
  const lines = seen instanceof Error
    ? [seen.message]
    : topLines(seen, { now: Date.now(), paint: paintFor(io), columns });
  const fitting = lines.length < rows
    ? lines
    : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more`];
  return home + fitting.map((line) => `${line}${clearLine}\n`).join("") + clearBelow;
}

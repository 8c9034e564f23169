import { appFlags, connectAgent, type LogChoice, oneApp } from "../agent-api/agent-api.ts";
import { type Command, type Flag, type Invocation, textFlag, UsageError } from "../command.ts";

/** What of a log is wanted. */
export const logFlags: Record<string, Flag> = {
  follow: { kind: "switch", short: "f", help: "Go on as the log grows, until Ctrl-C." },
  tail: { kind: "text", value: "N", help: "Begin with the last N lines.", default: "all" },
};

/** Prints what an app wrote, across rotations, byte for byte. */
export const logsCommand: Command = {
  name: "logs",
  summary: "Print the log of an app.",
  operands: "APP",
  flags: { ...logFlags, ...appFlags },
  examples: ["nckubelet logs web", "nckubelet logs -f --tail 20 web", "nckubelet logs shop/web | grep ERROR"],
  async run(invocation, io) {
    const app = oneApp(invocation);
    const choice = logChoice(invocation);
    const client = await connectAgent(invocation, io);
    for await (const bytes of client.logs(app, { ...choice, signal: io.signal })) io.stdout(bytes);
    return 0;
  },
};

/** What the flags say. */
export function logChoice(invocation: Invocation): LogChoice {
  return {
    tailLines: readTail(textFlag(invocation, "tail")),
    follow: invocation.flags.follow === true,
  };
}

function readTail(text: string | undefined): number | undefined {
  if (text === undefined || text === "all") return undefined;
  if (!/^\d{1,7}$/.test(text)) {
    throw new UsageError(`--tail ${JSON.stringify(text)}: not a number of lines`);
  }
  return Number(text);
}

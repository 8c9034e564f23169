import { appFlags, connectAgent } from "./agent-client.ts";
import { oneApp } from "./app-operand.ts";
import { type Command, textFlag, UsageError } from "./command.ts";

/** Prints what an app wrote, across rotations, byte for byte. */
export const logsCommand: Command = {
  name: "logs",
  summary: "Print the log of an app.",
  operands: "APP",
  flags: {
    follow: { kind: "switch", short: "f", help: "Go on as the log grows, until Ctrl-C." },
    tail: { kind: "text", value: "N", help: "Begin with the last N lines.", default: "all" },
    ...appFlags,
  },
  examples: ["nckubelet logs web", "nckubelet logs -f --tail 20 web", "nckubelet logs shop/web | grep ERROR"],
  async run(invocation, io) {
    const app = oneApp(invocation);
    const tailLines = readTail(textFlag(invocation, "tail"));
    const follow = invocation.flags.follow === true;
    const log = connectAgent(invocation, io).logs(app, { tailLines, follow, signal: io.signal });
    for await (const bytes of log) io.stdout(bytes);
    return 0;
  },
};

function readTail(text: string | undefined): number | undefined {
  if (text === undefined || text === "all") return undefined;
  if (!/^\d{1,7}$/.test(text)) {
    throw new UsageError(`--tail ${JSON.stringify(text)}: not a number of lines`);
  }
  return Number(text);
}

import type { NCApp } from "../api/types.ts";
import { appTable } from "./app-table.ts";
import { askAgent } from "./ask-agent.ts";
import { defaultSocket } from "./agent-config.ts";
import { type Command, textFlag, UsageError } from "./command.ts";

/** Lists the apps of this node, as their agent sees them. */
export const psCommand: Command = {
  name: "ps",
  summary: "List the apps of this node.",
  flags: {
    socket: { kind: "text", value: "PATH", help: "The agent's unix socket.", default: defaultSocket },
    output: { kind: "text", short: "o", value: "FORMAT", help: "table or json.", default: "table" },
  },
  examples: ["nckubelet ps", "nckubelet ps -o json | jq '.items[].status.phase'"],
  async run(invocation, io) {
    const output = textFlag(invocation, "output") ?? "table";
    if (output !== "table" && output !== "json") {
      throw new UsageError(`--output ${JSON.stringify(output)}: use table or json`);
    }
    const socket = textFlag(invocation, "socket") ?? io.env.NCKUBELET_SOCKET ?? defaultSocket;
    const list = await askAgent<{ items: NCApp[] }>(socket, "/apps");
    if (output === "json") io.stdout(`${JSON.stringify(list, null, 2)}\n`);
    else if (list.items.length === 0) io.stdout("No apps on this node.\n");
    else io.stdout(`${appTable(list.items, Date.now()).join("\n")}\n`);
    return 0;
  },
};

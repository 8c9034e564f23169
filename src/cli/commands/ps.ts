import { apiVersion, keyOf, listKind } from "../../api/names.ts";
import { appFlags, connectAgent, type NodeApp } from "../agent-api/agent-api.ts";
import {
  appTable,
  formatObject,
  outputFlag,
  type OutputFormat,
  outputFormat,
  paintFor,
} from "../screen/screen.ts";
import { type Command, type Io, textFlag, UsageError } from "../command.ts";

/** Lists the apps of this node, as their agent sees them. */
export const psCommand: Command = {
  name: "ps",
  summary: "List the apps of this node.",
  flags: {
    ...appFlags,
    namespace: {
      kind: "text",
      short: "n",
      value: "NAME",
      help: "Only those of this namespace.",
      default: "all",
    },
    output: outputFlag,
  },
  examples: [
    "nckubelet ps",
    "nckubelet ps -o wide",
    "nckubelet ps -o json | jq '.items[].status.phase'",
  ],
  async run(invocation, io) {
    if (invocation.args.length > 0) {
      throw new UsageError(
        `ps takes no operands, not ${JSON.stringify(invocation.args[0])}; 'nckubelet describe APP' shows one`,
      );
    }
    const format = outputFormat(invocation);
    const namespace = textFlag(invocation, "namespace");
    const client = await connectAgent(invocation, io);
    const apps = (await client.list())
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
    const none = namespace === undefined
      ? noApps
      : `No apps in namespace ${namespace} on this node; 'nckubelet ps' lists those of all.`;
    io.stdout(formatApps(apps, format, io, { none }));
    return 0;
  },
};

/** A list of apps in the format that was asked for. */
export function formatApps(
  apps: NodeApp[],
  format: OutputFormat,
  io: Io,
  { cluster = false, none = noApps }: { cluster?: boolean; none?: string } = {},
): string {
  if (format === "json" || format === "yaml") {
    return formatObject({ apiVersion, kind: listKind, metadata: {}, items: apps }, format);
  }
  if (format === "name") {
    return apps.map((app) => `${keyOf(app)}\n`).join("");
  }
  if (apps.length === 0) return `${none}\n`;
  const lines = appTable(apps, { now: Date.now(), wide: format === "wide", cluster, paint: paintFor(io) });
  return `${lines.join("\n")}\n`;
}

const noApps = "No apps on this node. 'nckubelet run SCRIPT' or 'nckubelet apply -f FILE' starts one.";

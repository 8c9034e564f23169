/**
 * `kubectl ncapp`: this program under the name `kubectl-ncapp`, for admins. It asks the API server, not an agent.
 */
import { annotations, appKey } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { sleep } from "../lib/sleep.ts";
import { manyApps, oneApp } from "./app-operand.ts";
import { ageOf } from "./app-table.ts";
import { type Command, type Flag, type Invocation, UsageError } from "./command.ts";
import type { CommandTable } from "./command-line.ts";
import { describeApp } from "./describe-app.ts";
import { outputFlag, outputFormat } from "./output.ts";
import { paintFor, printable } from "./paint.ts";
import { type AppEventRow, type ClusterApps, clusterFlags, connectApps } from "./plugin-cluster.ts";
import { formatApps } from "./ps.ts";
import { formatTable } from "./table.ts";

const allFlag: Flag = { kind: "switch", short: "A", help: "Those of all namespaces." };

const psCommand: Command = {
  name: "ps",
  summary: "List NCApps with their nodes and what they use.",
  flags: { "all-namespaces": allFlag, ...clusterFlags, output: outputFlag },
  examples: ["kubectl ncapp ps", "kubectl ncapp ps -A -o wide"],
  async run(invocation, io) {
    const format = outputFormat(invocation);
    using cluster = await connectApps(invocation, io);
    io.stdout(formatApps(await listed(cluster, invocation), format, io, inCluster(cluster)));
    return 0;
  },
};

const describeCommand: Command = {
  name: "describe",
  summary: "Tell the whole story of an NCApp, with its events.",
  operands: "APP",
  flags: clusterFlags,
  examples: ["kubectl ncapp describe web"],
  async run(invocation, io) {
    using cluster = await connectApps(invocation, io);
    const app = await cluster.get(oneApp(inNamespace(invocation, cluster)));
    const lines = [
      ...describeApp(app, Date.now(), paintFor(io)),
      ...eventLines(await cluster.events(app)),
    ];
    io.stdout(`${lines.join("\n")}\n`);
    return 0;
  },
};

const restartCommand: Command = {
  name: "restart",
  summary: "Have NCApps stopped and started again.",
  operands: "APP...",
  flags: clusterFlags,
  examples: ["kubectl ncapp restart web"],
  async run(invocation, io) {
    using cluster = await connectApps(invocation, io);
    for (const name of manyApps(inNamespace(invocation, cluster))) {
      const key = appKey(name.namespace, name.name);
      const app = await cluster.get(name);
      if (app.metadata.annotations?.[annotations.mirror] !== undefined) {
        throw new Error(
          `${key} is kept on ${app.spec.nodeName}, this is its mirror: use 'nckubelet restart ${key}' there`,
        );
      }
      await cluster.restart(name);
      io.stdout(`${key} is being restarted\n`);
    }
    return 0;
  },
};

const topCommand: Command = {
  name: "top",
  summary: "Watch what NCApps use.",
  flags: { "all-namespaces": allFlag, ...clusterFlags },
  examples: ["kubectl ncapp top -A"],
  async run(invocation, io) {
    using cluster = await connectApps(invocation, io);
    do {
      const apps = (await listed(cluster, invocation)).sort(byUse);
      const clear = io.columns > 0 ? "\x1b[H\x1b[2J" : "";
      io.stdout(clear + formatApps(apps, "table", io, inCluster(cluster)));
      if (io.columns > 0) await sleep(5000, io.signal);
    } while (io.columns > 0 && !io.signal.aborted);
    return 0;
  },
};

/** What `kubectl ncapp` knows. */
export const pluginCommands: CommandTable = Object.fromEntries(
  [psCommand, topCommand, describeCommand, restartCommand].map((command) => [
    command.name,
    { summary: command.summary, load: async () => command },
  ]),
);

async function listed(cluster: ClusterApps, { flags, args }: Invocation): Promise<NCApp[]> {
  if (args.length > 0) throw new UsageError(`no operands are taken, not ${JSON.stringify(args[0])}`);
  return await cluster.list(flags["all-namespaces"] ? undefined : cluster.namespace);
}

/** Names without a namespace are in that of the context. */
function inNamespace(invocation: Invocation, { namespace }: ClusterApps): Invocation {
  const isFull = invocation.args.some((word) => word.includes("/"));
  return isFull ? invocation : { ...invocation, flags: { ...invocation.flags, namespace } };
}

function inCluster({ namespace }: ClusterApps): { cluster: true; none: string } {
  return { cluster: true, none: `No NCApps in the namespace ${namespace}; -A looks in all.` };
}

function byUse(one: NCApp, other: NCApp): number {
  return Number(other.status?.cpuPCT ?? -1) - Number(one.status?.cpuPCT ?? -1);
}

function eventLines(rows: AppEventRow[]): string[] {
  if (rows.length === 0) return ["Events: none"];
  const cells = rows.map(({ type = "", reason = "", message = "", count = 1, lastTimestamp }) => [
    type,
    reason,
    `${ageOf(lastTimestamp, Date.now())}${count > 1 ? ` (x${count})` : ""}`,
    printable(message).replaceAll("\n", " "),
  ]);
  const lines = formatTable([["TYPE", "REASON", "AGE", "MESSAGE"], ...cells]);
  return ["Events:", ...lines.map((line) => `  ${line}`)];
}

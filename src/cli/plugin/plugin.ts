/**
 * `kubectl ncapp`: this program under the name `kubectl-ncapp`, for admins. It asks the API server; only logs come from an agent.
 */
import { annotations, appKey } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import { describeError } from "../../lib/log.ts";
import { manyApps, oneApp } from "../agent-api/agent-api.ts";
import {
  ageOf,
  byUse,
  describeApp,
  formatTable,
  isForPrograms,
  outputFlag,
  outputFormat,
  paintFor,
  printableLine,
  watchScreen,
} from "../screen/screen.ts";
import { type Command, type Invocation, type Io, UsageError } from "../command.ts";
import type { CommandTable } from "../command-line.ts";
import { type AppEventRow, clusterFlags, connectApps } from "./cluster-apps.ts";
import { logsCommand } from "./node-logs.ts";
import { formatApps } from "../commands/ps.ts";

interface Listing extends Pick<Command, "name" | "summary" | "flags" | "examples"> {
  show(look: () => Promise<NCApp[]>, invocation: Invocation, io: Io, none: string): Promise<void>;
}

/** A command that lists the NCApps of a namespace, or of all. */
function listing({ show, ...command }: Listing): Command {
  return {
    ...command,
    flags: {
      "all-namespaces": { kind: "switch", short: "A", help: "Those of all namespaces." },
      ...clusterFlags,
      ...command.flags,
    },
    async run(invocation, io) {
      const { flags, args } = invocation;
      if (args.length > 0) throw new UsageError(`no operands are taken, not ${JSON.stringify(args[0])}`);
      using cluster = await connectApps(invocation, io);
      const all = flags["all-namespaces"];
      const none = all ? "No NCApps." : `No NCApps in the namespace ${cluster.namespace}; -A looks in all.`;
      await show(() => cluster.list(all ? undefined : cluster.namespace), invocation, io, none);
      return 0;
    },
  };
}

const psCommand = listing({
  name: "ps",
  summary: "List NCApps with their nodes and what they use.",
  flags: { output: outputFlag },
  examples: ["kubectl ncapp ps", "kubectl ncapp ps -A -o wide"],
  async show(look, invocation, io, none) {
    const format = outputFormat(invocation);
    io.stdout(formatApps(await look(), format, io, { cluster: true, none }));
  },
});

const topCommand = listing({
  name: "top",
  summary: "Watch what NCApps use.",
  flags: { output: outputFlag },
  examples: ["kubectl ncapp top -A", "kubectl ncapp top -A -o json"],
  async show(look, invocation, io, none) {
    const format = outputFormat(invocation);
    const text = async () => formatApps((await look()).sort(byUse), format, io, { cluster: true, none });
    if (isForPrograms(format)) return io.stdout(await text());
    await watchScreen(async () => (await text()).trimEnd().split("\n"), io, { everyMs: 5000 });
  },
});

const describeCommand: Command = {
  name: "describe",
  summary: "Tell the whole story of an NCApp, with its events.",
  operands: "APP",
  flags: clusterFlags,
  examples: ["kubectl ncapp describe web"],
  async run(invocation, io) {
    using cluster = await connectApps(invocation, io);
    const app = await cluster.get(oneApp(invocation, cluster.namespace));
    // Who may read an NCApp need not be allowed to list events: the rest of the story is told without them.
    const events = await cluster.events(app).then(
      eventLines,
      (error) => [`Events: cannot be read: ${printableLine(describeError(error))}`],
    );
    io.stdout(`${[...describeApp(app, Date.now(), paintFor(io)), ...events].join("\n")}\n`);
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
    for (const name of manyApps(invocation, cluster.namespace)) {
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

/** What `kubectl ncapp` knows. */
export const pluginCommands: CommandTable = Object.fromEntries(
  [psCommand, topCommand, logsCommand, describeCommand, restartCommand].map((command) => [
    command.name,
    { summary: command.summary, load: async () => command },
  ]),
);

function eventLines(rows: AppEventRow[]): string[] {
  if (rows.length === 0) return ["Events: none"];
  const cells = rows.map(({ type = "", reason = "", message = "", count = 1, lastTimestamp }) =>
    [
      type,
      reason,
      `${ageOf(lastTimestamp, Date.now())}${count > 1 ? ` (x${count})` : ""}`,
      message,
    ].map(printableLine)
  );
  const lines = formatTable([["TYPE", "REASON", "AGE", "MESSAGE"], ...cells]);
  return ["Events:", ...lines.map((line) => `  ${line}`)];
}

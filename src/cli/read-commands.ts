/**
 * The commands that read apps: ps, top, logs and describe. They are written once for `nckubelet`, which asks the agent of its node
 * (node-apps.ts), and for `kubectl ncapp`, which asks the API server (plugin/cluster-apps.ts).
 */
import type { LogChoice, LogOptions, NodeApp } from "./agent-api/agent-api.ts";
import { type AppName, oneApp } from "./app-name.ts";
import { type Command, type Flag, type Invocation, type Io, textFlag } from "./command.ts";
import { parseDuration, parseWholeNumber } from "./flag-values.ts";
import {
  byUsage,
  describeApp,
  formatApps,
  isForPrograms,
  outputFlag,
  outputFormat,
  paintFor,
  topLines,
  watchScreen,
} from "./screen/screen.ts";

export interface AppOrigin {
  /** What the user types before the command. */
  program: string;
  /** Whether its apps are those of one node or of many. */
  scope: "node" | "cluster";
  /** The flags of commands that take an APP, and of those that list apps. */
  appFlags: Record<string, Flag>;
  listFlags: Record<string, Flag>;
  /** More flags for logs. */
  logFlags: Record<string, Flag>;
  /** How often top refreshes by default. */
  interval: string;
  connect(invocation: Invocation, io: Io): Promise<AppReader>;
}

export interface AppReader extends Disposable {
  /** The namespace of an APP that names none. */
  namespace?: string;
  /** Lists the apps that the flags select. */
  list(): Promise<NodeApp[]>;
  /** Printed if there are none. */
  none: string;
  get(app: AppName): Promise<NodeApp>;
  logs(app: AppName, options: LogOptions): AsyncIterable<Uint8Array>;
  /** The first lines of top. */
  heading(): Promise<string[]>;
  /** The last lines of describe. */
  events(app: NodeApp): Promise<string[]>;
}

export interface ReadCommands {
  ps: Command;
  top: Command;
  logs: Command;
  describe: Command;
}

export function readCommands(origin: AppOrigin): ReadCommands {
  return {
    ps: psCommand(origin),
    top: topCommand(origin),
    logs: logsCommand(origin),
    describe: describeCommand(origin),
  };
}

function psCommand({ program, scope, listFlags, connect }: AppOrigin): Command {
  return {
    operandHint: `'${program} describe APP' shows one app`,
    flags: { ...listFlags, output: outputFlag },
    examples: [
      `${program} ps`,
      `${program} ps -n shop -o wide`,
      `${program} ps -o json | jq '.items[].status.phase'`,
    ],
    async run(invocation, io) {
      const format = outputFormat(invocation);
      using apps = await connect(invocation, io);
      io.stdout(formatApps(await apps.list(), format, io, { scope, none: apps.none }));
      return 0;
    },
  };
}

/** Shows the usage of apps, highest first: refreshed in place on a terminal, once for programs and with --once. */
function topCommand({ program, scope, listFlags, interval, connect }: AppOrigin): Command {
  return {
    operandHint: `'${program} describe APP' shows one app`,
    flags: {
      interval: { kind: "text", value: "TIME", help: "How often to refresh.", default: interval },
      once: { kind: "switch", help: "Print once and exit, even on a terminal." },
      output: outputFlag,
      ...listFlags,
    },
    examples: [
      `${program} top`,
      `${program} top --interval 500ms`,
      `${program} top --once -o wide`,
      `${program} top -o json | jq -r '.items[0].metadata.name'`,
    ],
    async run(invocation, io) {
      const everyMs = parseDuration("interval", textFlag(invocation, "interval") ?? interval);
      const once = invocation.flags.once === true;
      const format = outputFormat(invocation);
      using reader = await connect(invocation, io);
      const { none } = reader;
      if (isForPrograms(format)) {
        io.stdout(formatApps((await reader.list()).sort(byUsage), format, io, { scope, none }));
        return 0;
      }
      const draw = async () => {
        const [heading, apps] = await Promise.all([reader.heading(), reader.list()]);
        const width = once ? 0 : io.columns;
        const options = { now: Date.now(), wide: format === "wide", scope, none, paint: paintFor(io), width };
        return topLines(heading, apps, options);
      };
      await watchScreen(draw, io, { everyMs, once });
      return 0;
    },
  };
}

/** Prints the output of an app, across rotations, byte for byte. */
function logsCommand({ program, appFlags, logFlags, connect }: AppOrigin): Command {
  return {
    operands: "APP",
    flags: {
      follow: { kind: "switch", short: "f", help: "Keep printing as the log grows, until Ctrl-C." },
      tail: { kind: "text", value: "N", help: "Start with the last N lines.", default: "all" },
      ...logFlags,
      ...appFlags,
    },
    examples: [
      `${program} logs web`,
      `${program} logs -f --tail 20 shop/web`,
      `${program} logs web | grep ERROR`,
    ],
    async run(invocation, io) {
      const choice = logChoice(invocation);
      using apps = await connect(invocation, io);
      const app = oneApp(invocation, apps.namespace);
      for await (const bytes of apps.logs(app, { ...choice, signal: io.signal })) io.stdout(bytes);
      return 0;
    },
  };
}

function logChoice(invocation: Invocation): LogChoice {
  const tail = textFlag(invocation, "tail") ?? "all";
  return {
    tailLines: tail === "all" ? undefined : parseWholeNumber("tail", tail, { max: 9_999_999 }),
    follow: invocation.flags.follow === true,
  };
}

function describeCommand({ program, appFlags, connect }: AppOrigin): Command {
  return {
    operands: "APP",
    flags: appFlags,
    examples: [`${program} describe web`, `${program} describe -n shop web`],
    async run(invocation, io) {
      using apps = await connect(invocation, io);
      const app = await apps.get(oneApp(invocation, apps.namespace));
      const lines = [...describeApp(app, Date.now(), paintFor(io)), ...await apps.events(app)];
      io.stdout(`${lines.join("\n")}\n`);
      return 0;
    },
  };
}

/**
 * The commands that read apps: ps, top, logs, describe and runs. They are written once for `nckubelet`, which asks the agent of its node
 * (node-apps.ts), and for `kubectl ncapp`, which asks the API server (plugin/cluster-apps.ts).
 */
import { parseTime } from "../lib/time.ts";
import { maxTailLines } from "../supervisor/logs/logs.ts";
import type { LogChoice, NodeApp } from "./agent-api/agent-api.ts";
import { manyApps, oneApp } from "./app-name.ts";
import type { AppOrigin, AppReader } from "./app-reader.ts";
import { appChoice, chooseApps, chooseFlags, selectorFlag } from "./choose-apps.ts";
import { type Command, type Invocation, textFlag, UsageError } from "./command.ts";
import { parseAge, parseDuration, parseWholeNumber } from "./flag-values.ts";
import { printLogs } from "./print-logs.ts";
import {
  byUsage,
  describeApp,
  formatApps,
  isForPrograms,
  outputFlag,
  outputFormat,
  paintFor,
  runsOf,
  runTable,
  type Scope,
  topLines,
  watchApps,
  watchScreen,
} from "./screen/screen.ts";

export function readCommands(
  origin: AppOrigin,
): Record<"ps" | "top" | "logs" | "describe" | "runs", Command> {
  return {
    ps: psCommand(origin),
    top: topCommand(origin),
    logs: logsCommand(origin),
    describe: describeCommand(origin),
    runs: runsCommand(origin),
  };
}

const all = "it lists the apps of all namespaces and phases";
/** Flags of kubectl get and docker ps; `kubectl ncapp` has -A itself. */
const listingFlags: Record<Scope, Record<string, string>> = {
  node: { "-A": all, "--all-namespaces": all, "-a": all, "--all": all },
  cluster: { "-a": "use -A", "--all": "use -A" },
};

/** Lists apps. With --watch a terminal shows them in place; elsewhere each change is a line. */
function psCommand({ program, scope, listFlags, connect }: AppOrigin): Command {
  return {
    operands: "[APP...]",
    flags: {
      ...listFlags,
      selector: selectorFlag,
      watch: { short: "w", help: "Show changes until Ctrl-C." },
      output: outputFlag,
    },
    otherFlags: {
      ...listingFlags[scope],
      "-q": "use -o name",
      "--filter": "use -l LABELS, or name the apps",
      "--format": "use -o json",
      "--sort-by": "'top --once' sorts by usage; -o json is for programs",
    },
    examples: [
      `${program} ps`,
      `${program} ps web worker`,
      `${program} ps --watch -l app=web`,
      `${program} ps -n shop -o wide`,
      `${program} ps -o json | jq '.items[].status.phase'`,
    ],
    async run(invocation, io) {
      const format = outputFormat(invocation);
      const watch = invocation.flags.watch === true;
      if (watch && isForPrograms(format)) {
        throw new UsageError(`--watch shows a table: use it without -o ${format}`);
      }
      using reader = await connect(invocation, io);
      const isChosen = appChoice(invocation) ?? (() => true);
      const named = invocation.args.length > 0 ? manyApps(invocation, reader.namespace) : undefined;
      const list = async () => {
        if (named) return await Promise.all(named.map((app) => reader.get(app)));
        const apps = (await reader.list()).filter(isChosen);
        return isForPrograms(format) ? apps : [...apps, ...(await reader.broken()).filter(isChosen)];
      };
      const options = { scope, none: noneOf(invocation, reader) };
      if (watch) await watchApps(list, io, { ...options, wide: format === "wide" });
      else io.stdout(formatApps(await list(), format, io, options));
      return 0;
    },
  };
}

/**
 * Shows the usage of apps, highest first: on a terminal as a screen with keys (top/top.ts), once for programs and with --once. Where
 * standard input is no terminal, the screen refreshes without keys.
 */
function topCommand({ program, scope, listFlags, interval, connect }: AppOrigin): Command {
  return {
    operandHint: `'${program} describe APP' shows one app`,
    flags: {
      interval: { value: "TIME", help: "How often to refresh.", default: interval },
      once: { help: "Print once and exit, even on a terminal." },
      output: outputFlag,
      selector: selectorFlag,
      ...listFlags,
    },
    otherFlags: {
      ...listingFlags[scope],
      "--sort-by": "the highest usage comes first; -o json is for programs",
    },
    examples: [
      `${program} top`,
      `${program} top --interval 500ms -l app=web`,
      `${program} top --once -o wide`,
      `${program} top -o json | jq -r '.items[0].metadata.name'`,
    ],
    async run(invocation, io) {
      const everyMs = parseDuration("interval", textFlag(invocation, "interval") ?? interval);
      const once = invocation.flags.once === true;
      const format = outputFormat(invocation);
      using all = await connect(invocation, io);
      const isChosen = appChoice(invocation) ?? (() => true);
      const none = noneOf(invocation, all);
      const reader = { ...all, none, list: async () => (await all.list()).filter(isChosen) };
      if (isForPrograms(format)) {
        io.stdout(formatApps((await reader.list()).sort(byUsage), format, io, { scope, none }));
        return 0;
      }
      if (!once && io.openTerminal) {
        const { runTop } = await import("./top/top.ts");
        await runTop(reader, io, io.openTerminal, { everyMs, scope });
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

/** Prints the output of apps, across rotations. */
function logsCommand({ program, scope, appFlags, connect }: AppOrigin): Command {
  return {
    operands: "APP...",
    flags: {
      follow: { short: "f", help: "Keep printing as the log grows, until Ctrl-C." },
      tail: { value: "N", help: "Start with the last N lines.", default: "all" },
      since: { value: "TIME", help: "Only lines of the last TIME, such as 5m or 1h30m." },
      "since-time": { value: "TIME", help: "Only lines since a time of RFC 3339." },
      previous: { short: "p", help: "Only the run before the current or last one." },
      ...(scope === "node"
        ? { run: { value: "RUN", help: "Only one run: its number in 'runs', or when it started." } }
        : {}),
      timestamps: { help: "Print when each line was written, accurate to a second." },
      "limit-bytes": { value: "N", help: "End after N bytes of each log." },
      ...chooseFlags,
      ...appFlags,
    },
    otherFlags: {
      "-t": "use --timestamps",
      "--lines": "use --tail N",
      ...(scope === "node" ? {} : { "--run": "use 'nckubelet logs --run' on the node, or --since-time" }),
    },
    examples: [
      `${program} logs web`,
      `${program} logs -f --tail 20 shop/web`,
      `${program} logs --since 10m --timestamps web`,
      `${program} logs --previous web`,
      ...(scope === "node" ? [`${program} logs --run 2 backup`] : []),
      `${program} logs -f web worker`,
      `${program} logs -l app=web --tail 5`,
      `${program} logs web | grep ERROR`,
    ],
    async run(invocation, io) {
      const choice = logChoice(invocation);
      using reader = await connect(invocation, io);
      const apps = await chooseApps(invocation, reader);
      const run = textFlag(invocation, "run");
      const [app, ...more] = apps;
      if (run === undefined || !app) return await printLogs(reader, apps, choice, io);
      if (more.length > 0) throw new UsageError("--run chooses a run of one app: name only that");
      return await printLogs(reader, apps, { ...choice, run: findRun(run, await reader.get(app)) }, io);
    },
  };
}

/** The id of the run that the user means: by its number in the list of runs, or by when it started. */
function findRun(meant: string, app: NodeApp): string {
  const runs = runsOf(app);
  const time = parseTime(meant)?.getTime();
  const found = time === undefined
    ? runs[Number(meant) - 1]
    : runs.find(({ startedAt = "" }) => Date.parse(startedAt) === time);
  if (found?.id) return found.id;
  const known = runs.length === 0
    ? "the app has had no run yet"
    : `'nckubelet runs' lists runs 1 to ${runs.length}`;
  throw new UsageError(`--run ${meant}: ${known}`);
}

function logChoice(invocation: Invocation): LogChoice {
  const tail = textFlag(invocation, "tail") ?? "all";
  const [since, sinceTime, limit] = ["since", "since-time", "limit-bytes"]
    .map((name) => textFlag(invocation, name));
  if (since !== undefined && sinceTime !== undefined) {
    throw new UsageError("use --since or --since-time, not both");
  }
  const run = textFlag(invocation, "run");
  if (run !== undefined && !/^\d+$/.test(run) && !parseTime(run)) {
    throw new UsageError(
      `--run ${
        JSON.stringify(run)
      }: use the number of a run in 'nckubelet runs', or when it started, such as 2026-11-17T07:04:14Z`,
    );
  }
  for (const other of ["previous", "follow"]) {
    if (run !== undefined && invocation.flags[other] === true) {
      throw new UsageError(`use --run or --${other}, not both`);
    }
  }
  if (sinceTime !== undefined && !parseTime(sinceTime)) {
    throw new UsageError(
      `--since-time ${JSON.stringify(sinceTime)}: use a time of RFC 3339 such as 2026-11-17T07:04:14Z`,
    );
  }
  return {
    // kubectl's default is -1.
    tailLines: tail === "all" || tail === "-1"
      ? undefined
      : parseWholeNumber("tail", tail, { max: maxTailLines }),
    follow: invocation.flags.follow === true,
    sinceSeconds: since === undefined ? undefined : parseAge("since", since),
    sinceTime,
    previous: invocation.flags.previous === true,
    timestamps: invocation.flags.timestamps === true,
    limitBytes: limit === undefined ? undefined : parseWholeNumber("limit-bytes", limit, { min: 1 }),
  };
}

function describeCommand({ program, appFlags, connect }: AppOrigin): Command {
  return {
    operands: "APP...",
    flags: { ...chooseFlags, ...appFlags },
    examples: [
      `${program} describe web`,
      `${program} describe -n shop web`,
      `${program} describe -l app=web`,
    ],
    async run(invocation, io) {
      using reader = await connect(invocation, io);
      for (const [index, name] of (await chooseApps(invocation, reader)).entries()) {
        const app = await reader.get(name);
        const lines = [...describeApp(app, Date.now(), paintFor(io)), ...await reader.events(app)];
        io.stdout(`${index > 0 ? "\n" : ""}${lines.join("\n")}\n`);
      }
      return 0;
    },
  };
}

/** Lists the run of an app that lives, and the last ones that have ended. */
function runsCommand({ program, appFlags, connect }: AppOrigin): Command {
  return {
    operands: "APP",
    flags: { ...appFlags, output: { ...outputFlag, help: "table or json." } },
    examples: [`${program} runs backup`, `${program} runs -o json backup | jq '.items[0].code'`],
    async run(invocation, io) {
      const format = outputFormat(invocation);
      using reader = await connect(invocation, io);
      const { status = {} } = await reader.get(oneApp(invocation, reader.namespace));
      const { recentRuns = [] } = status;
      if (isForPrograms(format)) io.stdout(`${JSON.stringify({ items: recentRuns }, null, 2)}\n`);
      else io.stdout(`${runTable(status, Date.now()).join("\n")}\n`);
      return 0;
    },
  };
}

/** What to print if a list is empty. */
function noneOf(invocation: Invocation, { none }: AppReader): string {
  const selector = textFlag(invocation, "selector");
  return selector === undefined ? none : `No app has the labels ${selector}.`;
}

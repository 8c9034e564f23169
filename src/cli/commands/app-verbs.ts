/** The commands that change apps on this node and wait for the outcome: stop, start, restart, reload, undo, trigger, delete. */
import { keyOf } from "../../api/names.ts";
import { type AgentClient, appFlags, connectAgent, type NodeApp } from "../agent-api/agent-api.ts";
import { type AppName, fullName, nameOf } from "../app-name.ts";
import {
  describeState,
  isRunning,
  type Outcome,
  report,
  stopTimeoutMs,
  waitForNewRun,
  waitForRemoval,
  waitForStop,
  waitForTriggeredEnd,
  waitForTriggeredRun,
  waitForVersion,
  wasDeleted,
} from "../app-state.ts";
import { chooseApps, chooseFlags } from "../choose-apps.ts";
import { type Command, type Flag, type Invocation, type Io, textFlag, UsageError } from "../command.ts";
import { filenameFlag, readManifestFiles } from "../manifest-files.ts";

interface Verb {
  examples: string[];
  /** What happens to the app, such as `stopped`. */
  done: string;
  /** Takes manifests with -f, and their apps. */
  takesFiles?: boolean;
  flags?: Record<string, Flag>;
  ask(client: AgentClient, app: AppName): Promise<void>;
  /** Waits for the outcome; `before` is the app as it was when the agent was asked. Absent if the agent answers when it is done. */
  wait?(client: AgentClient, before: NodeApp, signal: AbortSignal, asked: Asked): Promise<Outcome>;
}

/** What the user has asked for, and when the agent was asked. */
interface Asked {
  at: number;
  flags: Invocation["flags"];
}

const startTimeoutMs = 15_000;

const byGrace = "the app's terminationGracePeriodSeconds says when it is killed";
/** Those of docker, systemctl and kubectl. */
const otherFlags: Record<string, string> = {
  "--wait": "it waits already; --no-wait does not",
  "--force": byGrace,
  "--now": byGrace,
  "--grace-period": byGrace,
  "--time": byGrace,
  "--timeout": byGrace,
  "-t": byGrace,
  "-f": "name apps, or choose them with -l",
  "--to-revision": "undo goes back to the last good version; apply a manifest for another",
};

/** Stops apps of every source. They stay stopped until they are started again. */
export const stopCommand = verbCommand({
  examples: ["nckubelet stop web", "nckubelet stop -n shop web worker"],
  done: "stopped",
  ask: (client, app) => client.act(app, "stop"),
  wait: (client, before, signal) => waitForStop(client, before, { signal }),
});

export const startCommand = verbCommand({
  examples: ["nckubelet start web", "nckubelet start shop/web"],
  done: "started",
  ask: (client, app) => client.act(app, "start"),
  async wait(client, before, signal) {
    if (isRunning(before)) return describeState(before);
    const after = await waitForNewRun(client, before, { timeoutMs: startTimeoutMs, signal });
    return after ? describeState(after) : wasDeleted(nameOf(before));
  },
});

export const restartCommand = verbCommand({
  examples: ["nckubelet restart web", "nckubelet restart --all", "nckubelet restart -l app=web"],
  done: "restarted",
  ask: (client, app) => client.act(app, "restart"),
  async wait(client, before, signal) {
    const after = await waitForNewRun(client, before, { timeoutMs: stopTimeoutMs(before), signal });
    if (!after) return wasDeleted(nameOf(before));
    const isOld = after.status?.pid !== undefined && after.status.pid === before.status?.pid;
    return isOld ? { ok: false, text: `${keyOf(before)} was not restarted yet` } : describeState(after);
  },
});

/** Brings back the version before the one in force. Their sources keep what they want, which counts again when it changes. */
export const undoCommand = verbCommand({
  examples: ["nckubelet undo web", "nckubelet undo shop/web"],
  done: "undone",
  ask: (client, app) => client.act(app, "undo"),
  async wait(client, before, signal) {
    const after = await waitForVersion(client, before, { timeoutMs: stopTimeoutMs(before), signal });
    if (!after) return wasDeleted(nameOf(before));
    const { ok, text } = describeState(after);
    return { ok, text: `${text}; its version is ${after.status?.goodRevision}` };
  },
});

/** Makes apps reload their configuration; the agent answers with the outcome. */
export const reloadCommand = verbCommand({
  examples: ["nckubelet reload web", "nckubelet reload -l app=web"],
  done: "reloaded",
  ask: (client, app) => client.act(app, "reload"),
});

/** Runs apps with a schedule now. */
export const triggerCommand = verbCommand({
  examples: ["nckubelet trigger backup", "nckubelet trigger --wait backup && echo done"],
  done: "triggered",
  flags: { wait: { help: "Wait until the run has ended, and exit with its status." } },
  ask: (client, app) => client.act(app, "trigger"),
  wait: (client, before, signal, { at, flags }) =>
    flags.wait
      ? waitForTriggeredEnd(client, before, { since: at, startTimeoutMs, signal })
      : waitForTriggeredRun(client, before, { timeoutMs: startTimeoutMs, signal }),
});

/** Stops apps and removes them with their logs. */
export const deleteCommand = verbCommand({
  examples: ["nckubelet delete web", "nckubelet delete -f app.yaml", "nckubelet delete -l tier=test"],
  done: "deleted",
  takesFiles: true,
  ask: (client, app) => client.remove(app),
  wait: (client, before, signal) => waitForRemoval(client, before, { signal }),
});

/** Creates a command that applies the verb to each APP. A failure does not stop the others. */
function verbCommand({ examples, done, takesFiles = false, flags = {}, ask, wait }: Verb): Command {
  return {
    operands: "APP...",
    otherFlags,
    flags: {
      ...(takesFiles
        ? { filename: { ...filenameFlag, help: `The apps of a manifest or folder; - for standard input.` } }
        : {}),
      ...chooseFlags,
      ...appFlags,
      ...flags,
      ...(wait ? { "no-wait": { help: "Do not wait for the outcome." } } : {}),
    },
    examples,
    async run(invocation, io) {
      if (invocation.flags.wait && invocation.flags["no-wait"]) {
        throw new UsageError("use --wait or --no-wait, not both");
      }
      const client = await connectAgent(invocation, io);
      const apps = invocation.flags.filename
        ? await appsOfFiles(invocation, io)
        : await chooseApps(invocation, nodeList(client, textFlag(invocation, "namespace")));
      const outcomes = await Promise.allSettled(apps.map(async (app) => {
        const before = await client.get(app);
        const asked = { at: Date.now(), flags: invocation.flags };
        await ask(client, app);
        const isBeing = invocation.flags["no-wait"] ? "is being" : "is";
        const outcome = wait && !invocation.flags["no-wait"]
          ? await wait(client, before, io.signal, asked)
          : { ok: true, text: `${fullName(app)} ${isBeing} ${done}` };
        return report(outcome, io);
      }));
      const failures = outcomes.filter((outcome) => outcome.status === "rejected");
      if (failures.length > 0) throw joinErrors(failures.map(({ reason }) => reason as Error));
      const statuses = outcomes.map((outcome) => outcome.status === "fulfilled" ? outcome.value : 1);
      return statuses.find((status) => status !== 0) ?? 0;
    },
  };
}

function nodeList(client: AgentClient, namespace: string | undefined) {
  return {
    list: async () =>
      (await client.list()).filter(({ metadata }) => !namespace || metadata.namespace === namespace),
    none: "there are no apps on this node",
  };
}

/** The apps that manifests name. A manifest with a problem names none for certain: nothing is done. */
async function appsOfFiles(invocation: Invocation, io: Io): Promise<AppName[]> {
  const { flags, args } = invocation;
  if (args.length > 0 || flags.all || flags.selector) throw new UsageError("use -f or choose apps, not both");
  const files = await readManifestFiles(invocation, io, { namespace: textFlag(invocation, "namespace") });
  const problems = files.flatMap((file) => file.problems);
  if (problems.length > 0) throw new Error(problems.join("\nnckubelet: "));
  return files.flatMap((file) => file.apps.map(nameOf));
}

function joinErrors(errors: Error[]): Error {
  if (errors.length === 1) return errors[0]!;
  return new Error([...new Set(errors.map(({ message }) => message))].join("\nnckubelet: "));
}

/** The commands that change apps on this node and wait for the outcome: stop, start, restart, delete. */
import { type AgentClient, appFlags, connectAgent } from "../agent-api/agent-api.ts";
import { type AppName, fullName, manyApps, shortName } from "../app-name.ts";
import {
  describeState,
  hasEnded,
  isSettled,
  isStopped,
  type Outcome,
  stopTimeoutMs,
  waitForApp,
  waitForNewRun,
} from "../app-state.ts";
import type { Command, Io } from "../command.ts";

interface Verb {
  examples: string[];
  /** What happens to the app, such as `stopped`. */
  done: string;
  /** Asks the agent. Returns a function that waits for the outcome. */
  ask(client: AgentClient, app: AppName): Promise<(signal: AbortSignal) => Promise<Outcome>>;
}

const startTimeoutMs = 15_000;

/** Stops apps. They stay stopped until they are started again. */
export const stopCommand = verbCommand({
  examples: ["nckubelet stop web", "nckubelet stop -n shop web worker"],
  done: "stopped",
  async ask(client, app) {
    const timeoutMs = stopTimeoutMs(await client.get(app));
    await client.act(app, "stop");
    return async (signal) => {
      const after = await waitForApp(client, app, isStopped, { timeoutMs, signal });
      if (after && !isStopped(after)) return { ...describeState(after), ok: false };
      const text = `${fullName(app)} is stopped; 'nckubelet start ${shortName(app)}' starts it again`;
      return { ok: true, text };
    };
  },
});

export const startCommand = verbCommand({
  examples: ["nckubelet start web", "nckubelet start shop/web"],
  done: "started",
  async ask(client, app) {
    const before = await client.get(app);
    await client.act(app, "start");
    return async (signal) => {
      const limits = { timeoutMs: startTimeoutMs, signal };
      const after = hasEnded(before)
        ? await waitForNewRun(client, app, before, limits)
        : await waitForApp(client, app, isSettled, limits);
      return after ? describeState(after) : wasDeleted(app);
    };
  },
});

export const restartCommand = verbCommand({
  examples: ["nckubelet restart web"],
  done: "restarted",
  async ask(client, app) {
    const before = await client.get(app);
    await client.act(app, "restart");
    return async (signal) => {
      const limits = { timeoutMs: stopTimeoutMs(before), signal };
      const after = await waitForNewRun(client, app, before, limits);
      if (!after) return wasDeleted(app);
      const isOld = after.status?.pid !== undefined && after.status.pid === before.status?.pid;
      return isOld ? { ok: false, text: `${fullName(app)} was not restarted yet` } : describeState(after);
    };
  },
});

/** Stops apps and removes them with their logs. */
export const deleteCommand = verbCommand({
  examples: ["nckubelet delete web"],
  done: "deleted",
  async ask(client, app) {
    const timeoutMs = stopTimeoutMs(await client.get(app));
    await client.remove(app);
    return async (signal) => {
      const remaining = await waitForApp(client, app, () => false, { timeoutMs, signal });
      return remaining
        ? { ...describeState(remaining), ok: false }
        : { ok: true, text: `${fullName(app)} is deleted` };
    };
  },
});

/** Creates a command that applies the verb to each APP. A failure does not stop the others. */
function verbCommand({ examples, done, ask }: Verb): Command {
  return {
    operands: "APP...",
    flags: { ...appFlags, "no-wait": { kind: "switch", help: "Do not wait for the outcome." } },
    examples,
    async run(invocation, io) {
      const apps = manyApps(invocation);
      const client = await connectAgent(invocation, io);
      const wait = !invocation.flags["no-wait"];
      const outcomes = await Promise.allSettled(apps.map(async (app) => {
        const outcome = await ask(client, app);
        return report(
          wait ? await outcome(io.signal) : { ok: true, text: `${fullName(app)} is being ${done}` },
          io,
        );
      }));
      const failures = outcomes.filter((outcome) => outcome.status === "rejected");
      if (failures.length > 0) throw joinErrors(failures.map(({ reason }) => reason as Error));
      return outcomes.every((outcome) => outcome.status === "fulfilled" && outcome.value) ? 0 : 1;
    },
  };
}

function report({ ok, text }: Outcome, io: Io): boolean {
  if (ok) io.stdout(`${text}\n`);
  else io.stderr(`nckubelet: ${text}\n`);
  return ok;
}

function wasDeleted(app: AppName): Outcome {
  return { ok: false, text: `${fullName(app)} was deleted in the meantime` };
}

function joinErrors(errors: Error[]): Error {
  if (errors.length === 1) return errors[0]!;
  return new Error([...new Set(errors.map(({ message }) => message))].join("\nnckubelet: "));
}

/**
 * Commands that tell the agent one thing about apps and wait for the outcome: stop, start, restart, delete.
 */
import { type AgentClient, appFlags, type AppName, connectAgent, manyApps } from "../agent-api/agent-api.ts";
import type { Command, Io } from "../command.ts";

export interface Verb {
  name: string;
  summary: string;
  examples: string[];
  /** Does it to one app and resolves to the outcome, in a sentence. With `wait`, not before it is reached. */
  perform(
    client: AgentClient,
    app: AppName,
    options: { wait: boolean; signal: AbortSignal },
  ): Promise<{ well: boolean; text: string }>;
}

/** A command that does the verb to each APP; one that fails does not keep the others from their turn. */
export function verbCommand({ name, summary, examples, perform }: Verb): Command {
  return {
    name,
    summary,
    operands: "APP...",
    flags: { ...appFlags, "no-wait": { kind: "switch", help: "Do not wait for the outcome." } },
    examples,
    async run(invocation, io) {
      const apps = manyApps(invocation);
      const client = await connectAgent(invocation, io);
      const wait = !invocation.flags["no-wait"];
      const outcomes = await Promise.allSettled(
        apps.map(async (app) => say(await perform(client, app, { wait, signal: io.signal }), io)),
      );
      const failures = outcomes.filter((outcome) => outcome.status === "rejected");
      if (failures.length > 0) throw joinErrors(failures.map(({ reason }) => reason as Error));
      return outcomes.every((outcome) => outcome.status === "fulfilled" && outcome.value) ? 0 : 1;
    },
  };
}

function say({ well, text }: { well: boolean; text: string }, io: Io): boolean {
  if (well) io.stdout(`${text}\n`);
  else io.stderr(`nckubelet: ${text}\n`);
  return well;
}

function joinErrors(errors: Error[]): Error {
  if (errors.length === 1) return errors[0]!;
  return new Error([...new Set(errors.map(({ message }) => message))].join("\nnckubelet: "));
}

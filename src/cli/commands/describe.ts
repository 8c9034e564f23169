import { appFlags, connectAgent, oneApp } from "../agent-api/agent-api.ts";
import type { Command } from "../command.ts";
import { describeApp, paintFor } from "../screen/screen.ts";

/** Tells all that is known of an app. */
export const describeCommand: Command = {
  name: "describe",
  summary: "Tell the whole story of an app.",
  operands: "APP",
  flags: appFlags,
  examples: ["nckubelet describe web", "nckubelet describe -n shop web"],
  async run(invocation, io) {
    const client = await connectAgent(invocation, io);
    const app = await client.get(oneApp(invocation));
    io.stdout(`${describeApp(app, Date.now(), paintFor(io)).join("\n")}\n`);
    return 0;
  },
};

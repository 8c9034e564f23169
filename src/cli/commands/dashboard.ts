import { connectAgent, socketFlag } from "../agent-api/agent-api.ts";
import type { Command } from "../command.ts";

/** Prints a link to the dashboard with the token that it needs. */
export const dashboardCommand: Command = {
  flags: { socket: socketFlag },
  examples: ["nckubelet dashboard"],
  async run(invocation, io) {
    const agent = await connectAgent(invocation, io);
    io.stdout(`${await agent.dashboard()}\n`);
    return 0;
  },
};

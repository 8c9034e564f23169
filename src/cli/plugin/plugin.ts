/**
 * `kubectl ncapp`: this program as `kubectl-ncapp`, for admins. It asks the API server; only logs come from an agent.
 */
import { annotations } from "../../api/names.ts";
import { fullName, manyApps } from "../app-name.ts";
import type { Command } from "../command.ts";
import type { CommandTable } from "../command-line.ts";
import { readCommands } from "../read-commands.ts";
import { clusterApps, clusterFlags, connectApps } from "./cluster-apps.ts";

const { ps, top, logs, describe } = readCommands(clusterApps);

const restart: Command = {
  operands: "APP...",
  flags: clusterFlags,
  examples: ["kubectl ncapp restart web"],
  async run(invocation, io) {
    using cluster = await connectApps(invocation, io);
    for (const name of manyApps(invocation, cluster.namespace)) {
      const key = fullName(name);
      const app = await cluster.get(name);
      if (app.metadata.annotations?.[annotations.mirror] !== undefined) {
        throw new Error(
          `${key} is the mirror of an app on ${app.spec.nodeName}: use 'nckubelet restart ${key}' there`,
        );
      }
      await cluster.restart(name);
      io.stdout(`${key} is being restarted\n`);
    }
    return 0;
  },
};

export const pluginCommands: CommandTable = {
  ps: { summary: "List NCApps with their nodes and usage.", load: async () => ps },
  top: { summary: "Watch the usage of NCApps.", load: async () => top },
  logs: { summary: "Print the log of an NCApp from its node.", load: async () => logs },
  describe: { summary: "Show everything about an NCApp, with its events.", load: async () => describe },
  restart: { summary: "Stop NCApps and start them again.", load: async () => restart },
};

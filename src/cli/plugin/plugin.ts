/**
 * `kubectl ncapp`: this program as `kubectl-ncapp`, for admins. It asks the API server only, which asks the node for logs and exec.
 */
import { fullName, manyApps } from "../app-name.ts";
import type { Command } from "../command.ts";
import type { CommandTable } from "../command-line.ts";
import { readCommands } from "../read-commands.ts";
import { clusterApps, clusterFlags, connectApps } from "./cluster-apps.ts";

const { ps, top, logs, describe, runs } = readCommands(clusterApps);

const restart: Command = {
  operands: "APP...",
  flags: clusterFlags,
  examples: ["kubectl ncapp restart web"],
  async run(invocation, io) {
    using cluster = await connectApps(invocation, io);
    for (const name of manyApps(invocation, cluster.namespace)) {
      await cluster.restart(name);
      io.stdout(`${fullName(name)} is being restarted\n`);
    }
    return 0;
  },
};

export const pluginCommands: CommandTable = {
  ps: { summary: "List NCApps with their nodes and usage.", load: async () => ps },
  top: { summary: "Watch the usage of NCApps.", load: async () => top },
  logs: { summary: "Print the log of an NCApp from its node.", load: async () => logs },
  exec: {
    summary: "Run a command inside an NCApp on its node.",
    load: async () => (await import("./exec.ts")).execCommand,
  },
  describe: { summary: "Show everything about an NCApp, with its events.", load: async () => describe },
  runs: { summary: "List the last runs of an NCApp and how they ended.", load: async () => runs },
  drain: {
    summary: "Cordon a node and move its NCApps away.",
    load: async () => (await import("./drain.ts")).drainCommand,
  },
  restart: { summary: "Stop NCApps and start them again.", load: async () => restart },
  rollout: {
    summary: "Follow, undo, pause, resume, restart or promote the rollout of an NCAppSet.",
    load: async () => (await import("./rollout.ts")).rolloutCommand,
  },
};

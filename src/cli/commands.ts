/** All commands. Each is loaded when it is called, so that the agent does not carry the others in memory. */
import type { CommandTable } from "./command-line.ts";

export const commands: CommandTable = {
  agent: {
    summary: "Run the agent of this node.",
    load: async () => (await import("./agent.ts")).agentCommand,
  },
  ps: { summary: "List the apps of this node.", load: async () => (await import("./ps.ts")).psCommand },
  validate: {
    summary: "Check manifests without applying them.",
    load: async () => (await import("./validate.ts")).validateCommand,
  },
  version: { summary: "Print the version.", load: async () => (await import("./version.ts")).versionCommand },
};

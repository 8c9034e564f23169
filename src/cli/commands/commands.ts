/** All commands. Each is loaded when it is called, so that the agent does not carry the others in memory. */
import type { CommandTable } from "../command-line.ts";

export const commands: CommandTable = {
  agent: {
    summary: "Run the agent of this node.",
    load: async () => (await import("./agent.ts")).agentCommand,
  },
  scheduler: {
    summary: "Bind NCApps to nodes, or explain why not.",
    load: async () => (await import("./scheduler.ts")).schedulerCommand,
  },
  join: {
    summary: "Have the agent of this node follow an API server.",
    load: async () => (await import("./join.ts")).joinCommand,
  },
  run: {
    summary: "Run a script as an app on this node.",
    load: async () => (await import("../run/run.ts")).runCommand,
  },
  apply: {
    summary: "Have this node run what manifests say.",
    load: async () => (await import("./apply.ts")).applyCommand,
  },
  validate: {
    summary: "Check manifests without applying them.",
    load: async () => (await import("./validate.ts")).validateCommand,
  },
  ps: { summary: "List the apps of this node.", load: async () => (await import("./ps.ts")).psCommand },
  top: { summary: "Watch what the apps use.", load: async () => (await import("./top.ts")).topCommand },
  logs: { summary: "Print the log of an app.", load: async () => (await import("./logs.ts")).logsCommand },
  describe: {
    summary: "Tell the whole story of an app.",
    load: async () => (await import("./describe.ts")).describeCommand,
  },
  stop: {
    summary: "Stop apps, and keep them stopped.",
    load: async () => (await import("./stop.ts")).stopCommand,
  },
  start: {
    summary: "Start apps that were stopped or have ended.",
    load: async () => (await import("./start.ts")).startCommand,
  },
  restart: {
    summary: "Stop apps and start them again.",
    load: async () => (await import("./restart.ts")).restartCommand,
  },
  delete: {
    summary: "Stop apps and forget them, with their logs.",
    load: async () => (await import("./delete.ts")).deleteCommand,
  },
  exec: {
    summary: "Run a command inside of an app.",
    load: async () => (await import("./exec.ts")).execCommand,
  },
  doctor: {
    summary: "Find what is wrong with this node, and what to do.",
    load: async () => (await import("../doctor/doctor.ts")).doctorCommand,
  },
  manifests: {
    summary: "Print the CRD, RBAC and, with --image, the scheduler for kubectl apply.",
    load: async () => (await import("./manifests.ts")).manifestsCommand,
  },
  completion: {
    summary: "Print a completion script for bash, zsh or fish.",
    load: async () => (await import("../completion/completion.ts")).completionCommand(commands),
  },
  version: { summary: "Print the version.", load: async () => (await import("./version.ts")).versionCommand },
  hardware: {
    summary: "Print the maker and model of this machine as JSON.",
    hidden: true,
    load: async () => (await import("./hardware.ts")).hardwareCommand,
  },
};

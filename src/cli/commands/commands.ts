/**
 * All commands of `nckubelet`. Each is loaded when it is called, so that the agent does not keep the others in memory.
 * A new command is an entry here and a file that exports its Command.
 */
import type { CommandTable } from "../command-line.ts";

export const commands: CommandTable = {
  agent: {
    summary: "Run the agent of this node.",
    load: async () => (await import("./agent.ts")).agentCommand,
  },
  controller: {
    summary: "Run the controllers of the cluster, or explain where an app would be placed.",
    load: async () => (await import("./controller.ts")).controllerCommand,
  },
  scheduler: {
    summary: "Run only the scheduler: the same as controller --only scheduler.",
    load: async () => (await import("./controller.ts")).schedulerCommand,
  },
  join: {
    summary: "Connect the agent of this node to an API server.",
    load: async () => (await import("../join/join.ts")).joinCommand,
  },
  run: {
    summary: "Run a script as an app on this node.",
    load: async () => (await import("../run/run.ts")).runCommand,
  },
  apply: {
    summary: "Run the apps of manifests on this node.",
    load: async () => (await import("./apply.ts")).applyCommand,
  },
  diff: {
    summary: "Show what applying manifests would change.",
    load: async () => (await import("./diff.ts")).diffCommand,
  },
  validate: {
    summary: "Check manifests without applying them.",
    load: async () => (await import("./validate.ts")).validateCommand,
  },
  explain: {
    summary: "Explain the fields of manifests.",
    load: async () => (await import("./explain.ts")).explainCommand,
  },
  ps: {
    summary: "List the apps of this node.",
    load: async () => (await import("../node-apps.ts")).nodeCommands.ps,
  },
  top: {
    summary: "Watch the usage of apps.",
    load: async () => (await import("../node-apps.ts")).nodeCommands.top,
  },
  logs: {
    summary: "Print the logs of apps.",
    load: async () => (await import("../node-apps.ts")).nodeCommands.logs,
  },
  describe: {
    summary: "Show everything about an app.",
    load: async () => (await import("../node-apps.ts")).nodeCommands.describe,
  },
  runs: {
    summary: "List the last runs of an app and how they ended.",
    load: async () => (await import("../node-apps.ts")).nodeCommands.runs,
  },
  events: {
    summary: "Show what happened to apps.",
    load: async () => (await import("./events.ts")).eventsCommand,
  },
  history: {
    summary: "Show the versions of an app, everything that happened to it, and what preceded its exits.",
    load: async () => (await import("./history.ts")).historyCommand,
  },
  stop: {
    summary: "Stop apps and keep them stopped.",
    load: async () => (await import("./app-verbs.ts")).stopCommand,
  },
  start: {
    summary: "Start apps that were stopped, have ended or wait after a failure.",
    load: async () => (await import("./app-verbs.ts")).startCommand,
  },
  restart: {
    summary: "Stop apps and start them again.",
    load: async () => (await import("./app-verbs.ts")).restartCommand,
  },
  undo: {
    summary: "Go back to the last good version of apps, or to the one before.",
    load: async () => (await import("./app-verbs.ts")).undoCommand,
  },
  reload: {
    summary: "Make apps reload their configuration.",
    load: async () => (await import("./app-verbs.ts")).reloadCommand,
  },
  trigger: {
    summary: "Run apps with a schedule now.",
    load: async () => (await import("./app-verbs.ts")).triggerCommand,
  },
  delete: {
    summary: "Stop apps and remove them with their logs.",
    load: async () => (await import("./app-verbs.ts")).deleteCommand,
  },
  exec: {
    summary: "Run a command inside an app.",
    load: async () => (await import("./exec.ts")).execCommand,
  },
  dashboard: {
    summary: "Print a link to the dashboard of this node.",
    load: async () => (await import("./dashboard.ts")).dashboardCommand,
  },
  doctor: {
    summary: "Find problems of this node and how to fix them.",
    load: async () => (await import("../doctor/doctor.ts")).doctorCommand,
  },
  manifests: {
    summary: "Print the CRD, RBAC and, with --image, the controllers for kubectl apply.",
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
    load: async () => (await import("./agent.ts")).hardwareCommand,
  },
  "resolve-kubeconfig": {
    summary: "Write the API server and the credential of a kubeconfig to a pipe.",
    hidden: true,
    load: async () => (await import("./agent.ts")).resolveKubeconfigCommand,
  },
};

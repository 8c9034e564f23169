import { loadAccess, printResolution } from "../../kube/access/access.ts";
import { closeInheritedDescriptors } from "./inherited-descriptors.ts";
import { createLogger, type Logger, type LogOptions } from "../../lib/log.ts";
import { createPulse } from "../../lib/pulse.ts";
import { version } from "../../lib/version.ts";
import { type Command, textFlag, UsageError } from "../command.ts";
import { agentFlags, type AgentSettings, planReload, readAgentSettings } from "../config/config.ts";
import { misspelledVariables } from "../flag-values.ts";

export const agentCommand: Command = {
  flags: agentFlags,
  otherFlags: { "--reload": "send SIGHUP to the agent, such as with 'systemctl reload nckubelet'" },
  examples: [
    "nckubelet agent --kubeconfig /etc/nckubelet/kubeconfig",
    "nckubelet agent --server http://127.0.0.1:8001 --node-name edge-7",
    "nckubelet agent --with-controller",
    "nckubelet agent --standalone --manifests /etc/nckubelet/manifests",
  ],
  async run({ flags }, io) {
    // At once: a SIGHUP during the start ends nothing, and what it asks for is read anyway.
    let reload = () => {};
    io.onHangup?.(() => reload());
    const read = () => readAgentSettings(flags, io.env);
    const { logLevel, logFormat, texts, ...settings } = await read();
    const logging = { level: logLevel, format: logFormat, write: (line: string) => io.stderr(`${line}\n`) };
    const log = createLogger(logging);
    const reloads = createPulse();
    closeInheritedDescriptors();
    log.info("starting", { version, node: settings.nodeName });
    for (const warning of misspelledVariables(io.env, Object.keys(agentFlags))) log.warn(warning);
    if (settings.controllers === "scheduler") {
      log.warn(
        "with-scheduler runs only the scheduler: use with-controller, which runs all controllers of the cluster",
      );
    }
    const { self, signal } = io;
    const { standalone, kubeconfig, server, env } = settings;
    // The child process that reads the kubeconfig works while the modules of the agent load.
    const access = standalone ? undefined : loadAccess({ kubeconfig, server, env, self, signal, log });
    access?.catch(() => {});
    const { startAgent } = await import("../../agent/agent.ts");
    const agent = await startAgent({ ...settings, version, log, self, access, reloads });
    reload = createReload({ read, started: texts, logging, log, beat: reloads.beat });
    if (!io.signal.aborted) {
      await new Promise((resolve) => io.signal.addEventListener("abort", resolve, { once: true }));
    }
    log.info("stopping", {
      apps: settings.stopAppsOnExit ? "stop too" : "keep running, unless the node is shutting down",
    });
    await agent.close();
    return 0;
  },
};

/**
 * Returns what SIGHUP does: the settings are read again, and those that can apply at once do; the others are named. Manifests and
 * certificates are read again in any case.
 */
export function createReload({ read, started, logging, log, beat }: {
  read: () => Promise<AgentSettings>;
  started: AgentSettings["texts"];
  logging: LogOptions;
  log: Logger;
  beat: () => void;
}): () => void {
  let last = started;
  const reloadOnce = async () => {
    beat();
    try {
      const { logLevel, logFormat, texts } = await read();
      const { applied, pending } = planReload(texts, { started, last });
      last = texts;
      Object.assign(logging, { level: logLevel, format: logFormat });
      log.info("reloaded: manifests and certificates are read again", {
        settings: applied.length > 0 ? applied.join(", ") : "unchanged",
      });
      if (pending.length > 0) {
        log.warn("settings have changed that need a restart of the agent", { settings: pending.join(", ") });
      }
    } catch (error) {
      log.error("cannot reload the settings: those before stay in force", { error });
    }
  };
  let reloading: Promise<void> | undefined;
  let isAskedAgain = false;
  const reload = () => {
    if (reloading) return void (isAskedAgain = true);
    isAskedAgain = false;
    reloading = reloadOnce().finally(() => {
      reloading = undefined;
      if (isAskedAgain) reload();
    });
  };
  return reload;
}

/** Prints the maker and model of this machine. The agent runs it as a process of its own, which frees the memory that it needs. */
export const hardwareCommand: Command = {
  flags: {},
  examples: ["nckubelet hardware"],
  async run(_, io) {
    const { readHardware } = await import("../../node/hardware.ts");
    io.stdout(`${JSON.stringify(await readHardware())}\n`);
    return 0;
  },
};

/**
 * Writes the API server and the credential of a kubeconfig to a pipe. The agent and the scheduler run it as a process of its own, for
 * the same reason.
 */
export const resolveKubeconfigCommand: Command = {
  flags: {
    kubeconfig: { value: "FILES", help: "A kubeconfig, or a list as in KUBECONFIG." },
    context: { value: "NAME", help: "Context of the kubeconfig.", default: "its current one" },
    rejected: { help: "The API server rejected the last credential." },
  },
  examples: ["nckubelet resolve-kubeconfig --kubeconfig /etc/nckubelet/kubeconfig | consumer"],
  async run(invocation, io) {
    const kubeconfig = textFlag(invocation, "kubeconfig");
    if (!kubeconfig) throw new UsageError("resolve-kubeconfig needs --kubeconfig");
    if (io.columns > 0) throw new UsageError("resolve-kubeconfig prints a credential: not to a terminal");
    const options = {
      context: textFlag(invocation, "context"),
      rejected: Boolean(invocation.flags.rejected),
    };
    await printResolution(kubeconfig, { ...options, env: io.env }, io.stdout);
    return 0;
  },
};

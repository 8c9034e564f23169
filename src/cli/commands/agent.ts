import { closeInheritedDescriptors } from "../../lib/inherited-descriptors.ts";
import { createLogger } from "../../lib/log.ts";
import { version } from "../../lib/version.ts";
import type { Command } from "../command.ts";
import { agentFlags, readAgentSettings } from "../config/config.ts";

export const agentCommand: Command = {
  flags: agentFlags,
  examples: [
    "nckubelet agent --kubeconfig /etc/nckubelet/kubeconfig",
    "nckubelet agent --server http://127.0.0.1:8001 --node-name edge-7",
    "nckubelet agent --with-scheduler",
    "nckubelet agent --standalone --manifests /etc/nckubelet/manifests",
  ],
  async run({ flags }, io) {
    const { logLevel, logFormat, ...settings } = await readAgentSettings(flags, io.env);
    const log = createLogger({ level: logLevel, format: logFormat, write: (line) => io.stderr(`${line}\n`) });
    closeInheritedDescriptors();
    const { startAgent } = await import("../../agent/agent.ts");
    log.info("starting", { version, node: settings.nodeName });
    const hardwareCommand = io.self && [...io.self, "hardware"];
    const agent = await startAgent({ ...settings, version, log, hardwareCommand });
    if (!io.signal.aborted) {
      await new Promise((resolve) => io.signal.addEventListener("abort", resolve, { once: true }));
    }
    log.info("stopping", { apps: settings.stopAppsOnExit ? "stop too" : "keep running" });
    await agent.close();
    return 0;
  },
};

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

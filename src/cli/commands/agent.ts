import { closeInheritedDescriptors } from "../../lib/inherited-descriptors.ts";
import { createLogger } from "../../lib/log.ts";
import { version } from "../../lib/version.ts";
import { agentFlags, readAgentSettings } from "../config/config.ts";
import { type Command, UsageError } from "../command.ts";

/** Runs the agent until it is asked to stop. */
export const agentCommand: Command = {
  name: "agent",
  summary: "Run the agent of this node.",
  flags: agentFlags,
  examples: [
    "nckubelet agent --kubeconfig /etc/nckubelet/kubeconfig",
    "nckubelet agent --server http://127.0.0.1:8001 --node-name edge-7",
    "nckubelet agent --with-scheduler",
    "nckubelet agent --standalone --manifests /etc/nckubelet/manifests",
  ],
  async run({ flags, args }, io) {
    if (args.length > 0) throw new UsageError(`agent takes no operands, not ${JSON.stringify(args[0])}`);
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
    log.info("stopping", { apps: settings.stopAppsOnExit ? "are stopped too" : "run on" });
    await agent.close();
    return 0;
  },
};

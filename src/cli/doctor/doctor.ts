import { agentFlags, type AgentSettings, readAgentSettings } from "../config/config.ts";
import { createAgentClient } from "../agent-api/agent-api.ts";
import { type Command, type Flag, UsageError } from "../command.ts";
import { checkAgent, checkCgroups, checkDisk, checkTools } from "./check-node.ts";
import type { Finding } from "./finding.ts";
import { type Colour, formatTable, paintFor } from "../screen/screen.ts";

const used = [
  "config",
  "kubeconfig",
  "server",
  "standalone",
  "namespace",
  "socket",
  "state-dir",
  "log-dir",
  "cgroup-root",
];
const levels: Record<Finding["level"], { word: string; colour: Colour }> = {
  ok: { word: "OK", colour: "green" },
  warning: { word: "WARN", colour: "yellow" },
  problem: { word: "FAIL", colour: "red" },
};

/** Looks for what keeps an agent from working; changes nothing. */
export const doctorCommand: Command = {
  name: "doctor",
  summary: "Find what is wrong with this node, and what to do.",
  flags: Object.fromEntries(used.map((name) => [name, agentFlags[name] as Flag])),
  examples: [
    "nckubelet doctor",
    "nckubelet doctor --standalone",
    "nckubelet doctor --kubeconfig /etc/nckubelet/kubeconfig",
  ],
  async run({ flags, args }, io) {
    if (args.length > 0) throw new UsageError(`doctor takes no operands, not ${JSON.stringify(args[0])}`);
    const settings = await readAgentSettings(flags, io.env);
    const findings = withoutRepeats((await Promise.all([
      checkCgroups(settings),
      checkTools(),
      checkDisk(settings),
      checkAgent(createAgentClient(settings.socket)),
      checkApiServer(settings),
    ])).flat());
    const paint = paintFor(io);
    const rows = findings.map(({ level, check, message }) => [levels[level].word, check, message]);
    const lines = formatTable(
      rows,
      (cell, column, row) => column === 0 ? paint(levels[findings[row]!.level].colour, cell) : cell,
    );
    io.stdout(`${lines.join("\n")}\n`);
    return findings.some(({ level }) => level === "problem") ? 1 : 0;
  },
};

/** What the agent says of its limits is left out where it is the same that was found here. */
function withoutRepeats(findings: Finding[]): Finding[] {
  return findings.filter(({ check, message }) =>
    check !== "limits" || !findings.some((other) => other.check !== check && message.endsWith(other.message))
  );
}

async function checkApiServer(settings: AgentSettings): Promise<Finding[]> {
  if (settings.standalone) {
    return [{ check: "api server", level: "ok", message: "standalone: none is used" }];
  }
  const { checkCluster } = await import("./check-cluster.ts");
  return await checkCluster(settings);
}

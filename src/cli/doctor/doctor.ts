/**
 * `nckubelet doctor`: finds what keeps an agent from working. Changes nothing.
 *
 * It asks the running agent first: what that knows about its limits, folders and API server counts more than what this command
 * would find with its own user, flags and environment.
 */
import { access, constants } from "node:fs/promises";
import { agentFlags, type AgentSettings, readAgentSettings } from "../config/config.ts";
import { splitKubeconfig } from "../../kube/access/access.ts";
import { sourceNames } from "../../sources/source.ts";
import { type AgentStatus, createAgentClient } from "../agent-api/agent-api.ts";
import type { Command, Flag } from "../command.ts";
import { type Color, formatTable, paintFor } from "../screen/screen.ts";
import { checkAgent, checkCgroups, checkDisk, checkTools, type Finding } from "./check-node.ts";

const usedFlags = [
  "config",
  "kubeconfig",
  "server",
  "standalone",
  "namespace",
  "socket",
  "state-dir",
  "log-dir",
  "cgroup-root",
  "enforce",
];
const levels: Record<Finding["level"], { word: string; color: Color }> = {
  ok: { word: "OK", color: "green" },
  warning: { word: "WARN", color: "yellow" },
  problem: { word: "FAIL", color: "red" },
};

export const doctorCommand: Command = {
  flags: Object.fromEntries(usedFlags.map((name) => [name, agentFlags[name] as Flag])),
  examples: [
    "nckubelet doctor",
    "nckubelet doctor --standalone",
    "nckubelet doctor --kubeconfig /etc/nckubelet/kubeconfig",
  ],
  async run({ flags }, io) {
    const settings = await readAgentSettings(flags, io.env);
    const client = createAgentClient(settings.socket);
    const agent = await client.status().catch(() => undefined);
    const findings = withoutRepeats((await Promise.all([
      checkAgent(client),
      agent?.limits.enforced
        ? [{ check: "cgroup v2", level: "ok", message: "the agent enforces caps" } as const]
        : checkCgroups({ ...settings, enforce: agent ? enforceOf(agent) : settings.enforce }),
      checkTools(),
      checkDisk({
        stateDir: agent?.stateDir ?? settings.stateDir,
        logDir: agent?.logDir ?? settings.logDir,
      }),
      // Who names a server wants to know about that one, such as before a node joins its cluster.
      checkApiServer(
        settings,
        flags.kubeconfig === undefined && flags.server === undefined ? agent : undefined,
      ),
    ])).flat());
    const paint = paintFor(io);
    const rows = findings.map(({ level, check, message }) => [levels[level].word, check, message]);
    const lines = formatTable(
      rows,
      (cell, column, row) => column === 0 ? paint(levels[findings[row]!.level].color, cell) : cell,
    );
    io.stdout(`${lines.join("\n")}\n`);
    return findings.some(({ level }) => level === "problem") ? 1 : 0;
  },
};

function enforceOf({ limits }: Pick<AgentStatus, "limits">): AgentSettings["enforce"] {
  return limits.strict ? "strict" : "best-effort";
}

/** Removes what the agent reports about limits if a check here found the same. */
function withoutRepeats(findings: Finding[]): Finding[] {
  return findings.filter(({ check, message }) =>
    check !== "limits" || !findings.some((other) => other.check !== check && message.endsWith(other.message))
  );
}

/** Asks with the credential of the running agent, not with that of the shell. */
async function checkApiServer(
  settings: AgentSettings,
  agent: Pick<AgentStatus, "sources" | "checks" | "access" | "node"> | undefined,
): Promise<Finding[]> {
  const check = "api server";
  if (agent && !agent.sources.some(({ name }) => name === sourceNames.apiServer)) {
    return [{ check, level: "ok", message: "not used: the agent runs standalone" }];
  }
  if (!agent && settings.standalone) return [{ check, level: "ok", message: "not used: standalone" }];
  const { checkCluster } = await import("./check-cluster.ts");
  if (!agent) return await checkCluster(settings);
  const { kubeconfig, server } = agent.access ?? {};
  const said = agent.checks.filter(({ name }) => name === "api-server" || name === "authorization").map((
    { name, ok, message },
  ): Finding => ({ check: name, level: ok ? "ok" : "problem", message: `the agent says: ${message}` }));
  const isReadable = kubeconfig !== undefined &&
    await Promise.all(splitKubeconfig(kubeconfig).map((path) => access(path, constants.R_OK)))
      .then(() => true, () => false);
  if (!isReadable && !server) {
    const hint = "run this as root, or name its --kubeconfig, to check the CRD and RBAC, too";
    return said.map((finding, index) =>
      index === 0 ? { ...finding, message: `${finding.message}; ${hint}` } : finding
    );
  }
  return [...said, ...await checkCluster({ ...agent.access, nodeName: agent.node, env: {} })];
}

/**
 * Many agents in one process, for tests and benchmarks of a fleet: everything of a real agent except the processes of its apps.
 * Each has its own node name, Leases, Node, watch, connections and reports. Its state folder, almost empty, is in memory.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningAgent, startAgent } from "../../src/agent/agent.ts";
import { connectApiServer } from "../../src/agent/api-server-connection.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import type { RequestReport } from "../../src/kube/client/client.ts";
import { fakeLauncher } from "../fake-launcher.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { type Behave, createHollowRuns } from "./hollow-runs.ts";

export interface HollowOptions {
  nodes: string[];
  /** How the agent of a node reaches the API server. */
  reach: (node: string) => Pick<AgentOptions, "kubeconfig" | "server">;
  behave?: Behave;
  /** Called with every request that an agent has made. */
  onRequest?: (report: RequestReport, node: string) => void;
}

export interface HollowAgents extends AsyncDisposable {
  /** The state folders, removed at the end. */
  folder: string;
}

/** Starts the agents; resolves when all run. */
export async function startHollowAgents(hollow: HollowOptions): Promise<HollowAgents> {
  const folder = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "nckubelet-hollow-"));
  const agents: RunningAgent[] = [];
  const close = async () => {
    await Promise.all(agents.map((agent) => agent.close()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(hollow.nodes.map(async (node) => {
      agents.push(await startHollow(node, join(folder, node), hollow));
    }));
  } catch (error) {
    await close();
    throw error;
  }
  return { folder, [Symbol.asyncDispose]: close };
}

async function startHollow(
  node: string,
  stateDir: string,
  { reach, behave, onRequest }: HollowOptions,
): Promise<RunningAgent> {
  const { confined, decorate } = createHollowRuns(behave);
  return await startAgent({
    version: "hollow",
    nodeName: node,
    stateDir,
    logDir: join(stateDir, "log"),
    listen: "",
    socket: "",
    standalone: false,
    ...reach(node),
    registerNode: "auto",
    pods: "auto",
    reserved: { cpuPCT: 0, memPCT: 0 },
    enforce: "best-effort",
    logs: { maxBytes: 1 << 20, maxFiles: 2 },
    syncPeriodMs: 10_000,
    reportPeriodMs: 10_000,
    maxApps: 1000,
    stopAppsOnExit: true,
    stopTimeoutMs: 1000,
    env: {},
    log: silentLogger,
  }, {
    confine: async () => confined,
    launchBy: async () => fakeLauncher,
    decorate,
    connect: (options, count) =>
      connectApiServer(options, (report) => {
        count(report);
        onRequest?.(report, node);
      }),
  });
}

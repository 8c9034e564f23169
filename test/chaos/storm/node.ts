/** A node of the storm: an agent with its own folders, disks, listener and clock. */
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { agentUser } from "../../../src/api/names.ts";
import type { Cluster } from "../../harness/cluster.ts";
import { Daemon } from "../../harness/daemon.ts";
import { freePort } from "../../harness/free-port.ts";
import { createProgramClock, type ProgramClock } from "./clock.ts";
import { type Disk, mountDisk } from "./disk.ts";
import { type Listener, openListener } from "./listener.ts";
import type { EventRing } from "./events.ts";
import type { Gateway } from "./gateway.ts";
import { Member } from "./member.ts";

export interface StormNode {
  name: string;
  agent: Member;
  listener: Listener;
  stateDir: string;
  logDir: string;
  /** The address of the agent's HTTP endpoint. */
  url: string;
  /** Names the node otherwise when its agent starts next, as a changed host name would. */
  rename(name: string): void;
  /** Small file systems for state and logs; undefined if mounting is not possible. */
  disks?: { state: Disk; logs: Disk };
  clock: ProgramClock;
  /** The agent's log so far. */
  log(): Promise<string>;
}

export interface NodeParts {
  name: string;
  folder: string;
  cluster: Cluster;
  gateway: Gateway;
  events: EventRing;
  /** False: folders on the machine's own disk, which is never filled. */
  ownDisks: boolean;
}

/** Creates a node and starts its agent. */
export async function startNode(parts: NodeParts): Promise<StormNode> {
  const { name, cluster, gateway, events, ownDisks } = parts;
  const folder = join(parts.folder, name);
  const [stateDir, logDir] = [join(folder, "state"), join(folder, "logs")];
  await Promise.all([stateDir, logDir].map((path) => mkdir(path, { recursive: true })));
  const disks = ownDisks
    ? { state: await mountDisk(stateDir, "tmpfs"), logs: await mountDisk(logDir, "ext4") }
    : undefined;
  const listener = await openListener(gateway.port);
  const clock = await createProgramClock(folder);
  const kubeconfig = await writeKubeconfig(folder, cluster.tokenFor(agentUser(name)), listener, gateway);
  const logFile = join(folder, "agent.log");
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const socket = join(folder, "agent.sock");
  const args = [
    ...clock.args,
    "agent",
    ...["--node-name", name, "--kubeconfig", kubeconfig, "--enforce", "best-effort"],
    ...["--state-dir", stateDir, "--log-dir", logDir, "--socket", socket],
    // All nodes of the storm share the ports of one machine.
    ...["--listen", `127.0.0.1:${port}`, "--kubelet-listen", "", "--config", await emptyConfig(folder)],
  ];
  const nameAt = args.indexOf("--node-name") + 1;
  const daemon = new Daemon({
    program: process.execPath,
    args,
    logFile,
    // Not by the port, which a fault may take.
    isReady: () => answersOnSocket(socket),
    startTimeoutMs: 60_000,
  });
  const agent = new Member(`agent ${name}`, daemon, events);
  await agent.start();
  return {
    name,
    agent,
    listener,
    stateDir,
    logDir,
    url,
    rename: (name) => void (args[nameAt] = name),
    disks,
    clock,
    log: () => readFile(logFile, "utf8"),
  };
}

const renamedSuffix = "-renamed";

/** The name of a node while a fault has renamed it. */
export function renamed(name: string): string {
  return `${name}${renamedSuffix}`;
}

/** The name of a node, also from an app that was started while the node had another. */
export function realNode(name: string): string {
  return name.endsWith(renamedSuffix) ? name.slice(0, -renamedSuffix.length) : name;
}

/** Writes a kubeconfig that reaches the gateway through a listener. JSON is YAML. */
export async function writeKubeconfig(
  folder: string,
  token: string,
  listener: Listener,
  gateway: Gateway,
): Promise<string> {
  const path = join(folder, "kubeconfig");
  const cluster = { server: `https://127.0.0.1:${listener.port}`, "certificate-authority": gateway.caFile };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "storm", cluster }],
    users: [{ name: "storm", user: { token } }],
    contexts: [{ name: "storm", context: { cluster: "storm", user: "storm" } }],
    "current-context": "storm",
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** Reports whether the address answers with success at once. */
export async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}

async function answersOnSocket(socketPath: string): Promise<boolean> {
  const asked = get({ socketPath, path: "/healthz", timeout: 2000 });
  asked.on("timeout", () => asked.destroy());
  try {
    const [answer] = await once(asked, "response");
    answer.resume();
    return answer.statusCode === 200;
  } catch {
    return false;
  }
}

/** The settings of this machine must not affect a storm. */
async function emptyConfig(folder: string): Promise<string> {
  const path = join(folder, "config.yaml");
  await writeFile(path, "{}\n");
  return path;
}

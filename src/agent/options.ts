/** The options of an agent; the command line, the environment and the config file are read elsewhere. */
import type { Taint } from "../api/node-labels.ts";
import type { KubeAccess } from "../kube/access/access.ts";
import type { Logger } from "../lib/log.ts";
import type { Pulse } from "../lib/pulse.ts";
import type { Shares } from "../node/published.ts";
import type { RegisterMode } from "../node/register.ts";
import type { PodsMode } from "../report/pods/pods.ts";
import type { Enforce } from "../supervisor/run/run.ts";

export interface AgentOptions {
  version: string;
  nodeName: string;
  /** The words that run this program, to read the hardware; without them the Node object has none. */
  self?: string[];
  stateDir: string;
  logDir: string;
  /** `host:port`, comma-separated; empty: no port. Off loopback it needs TLS files, and a token file or an API server. */
  listen: string;
  /** Serve apps and their logs on loopback without a token, to every user of the machine. */
  openLoopback?: boolean;
  tlsCertFile?: string;
  tlsKeyFile?: string;
  /** Tokens that may read, one per line; others are reviewed by the API server. */
  tokenFile?: string;
  /** Where to serve the kubelet API, on a Node that the agent registered: `host:port` or `:port`; nowhere by default. */
  kubeletListen?: string;
  /** The authority of client certificates for the kubelet API; by default the one that the API server publishes. */
  clientCAFile?: string;
  /** Path of the unix socket; empty: none. */
  socket: string;
  manifests?: string;
  manifestUrl?: URL;
  standalone: boolean;
  kubeconfig?: string;
  server?: string;
  /** The way to the API server, if it is being resolved already; else the agent resolves it itself. */
  access?: Promise<KubeAccess>;
  namespace?: string;
  /** The controllers of the cluster that this agent also runs. */
  controllers?: "all" | "scheduler";
  registerNode: RegisterMode;
  /** What the Node gets when the agent registers it. */
  nodeLabels?: Record<string, string>;
  nodeTaints?: Taint[];
  /** Whether apps are shown as Pods. */
  pods: PodsMode;
  /** Take another name or cluster for this state: apps of the old one are stopped and deleted. */
  acceptNodeNameChange?: boolean;
  /** Shares of the node that apps never get. */
  reserved: Shares;
  cgroupRoot?: string;
  /** Names this agent's part of the cgroup tree, where several agents share a machine. */
  instance?: string;
  enforce: Enforce;
  /** The size at which an app's log is rotated, and how many files are kept, including the current one. */
  logs: { maxBytes: number; maxFiles: number };
  syncPeriodMs: number;
  reportPeriodMs: number;
  maxApps: number;
  stopAppsOnExit: boolean;
  /** How long stopping all apps may take before the agent exits anyway. */
  stopTimeoutMs: number;
  /** The environment, for credentials and proxies. */
  env: Record<string, string | undefined>;
  log: Logger;
  /** Beats when manifests and certificates are to be read again at once. */
  reloads?: Pulse;
}

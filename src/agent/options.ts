/** The options of an agent; the command line, the environment and the config file are read elsewhere. */
import type { Logger } from "../lib/log.ts";
import type { Shares } from "../node/published.ts";
import type { RegisterMode } from "../node/register.ts";
import type { Enforce } from "../supervisor/run/run.ts";

export interface AgentOptions {
  version: string;
  nodeName: string;
  /** Prints the hardware as `readHardware` returns it; without it the Node object has none. */
  hardwareCommand?: string[];
  stateDir: string;
  logDir: string;
  /** `host:port`, comma-separated; empty: no port. Off loopback it needs TLS files, and a token file or an API server. */
  listen: string;
  tlsCertFile?: string;
  tlsKeyFile?: string;
  /** Tokens that may read, one per line; others are reviewed by the API server. */
  tokenFile?: string;
  /** Path of the unix socket; empty: none. */
  socket: string;
  manifests?: string;
  manifestUrl?: URL;
  standalone: boolean;
  kubeconfig?: string;
  server?: string;
  namespace?: string;
  withScheduler?: boolean;
  registerNode: RegisterMode;
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
}

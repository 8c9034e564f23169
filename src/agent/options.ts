/** All that an agent can be told; the command line, the environment and the config file are read elsewhere. */
import type { Logger } from "../lib/log.ts";
import type { Shares } from "../node/published.ts";
import type { RegisterMode } from "../node/register.ts";
import type { Enforce } from "../supervisor/run/run.ts";

export interface AgentOptions {
  version: string;
  nodeName: string;
  /** Prints what machine this is, as `readHardware` has it; without it the Node does not tell. */
  hardwareCommand?: string[];
  stateDir: string;
  logDir: string;
  /** `host:port`, several divided by commas; empty: no port. Off loopback it takes the three below. */
  listen: string;
  tlsCertFile?: string;
  tlsKeyFile?: string;
  /** Tokens that may read, one per line; without it the API server is asked. */
  tokenFile?: string;
  /** Path of the unix socket; empty: none. */
  socket: string;
  manifests?: string;
  manifestUrl?: URL;
  standalone: boolean;
  kubeconfig?: string;
  server?: string;
  namespace?: string;
  /** Also run the scheduler of the cluster in this agent. */
  withScheduler?: boolean;
  registerNode: RegisterMode;
  /** Shares of the node that apps are never given. */
  reserved: Shares;
  cgroupRoot?: string;
  /** Set where several agents share a machine: names this one's part of the cgroup tree. */
  instance?: string;
  enforce: Enforce;
  /** How long an app's log may get, and how many files are kept of it. */
  logs: { maxBytes: number; maxFiles: number };
  syncPeriodMs: number;
  reportPeriodMs: number;
  maxApps: number;
  stopAppsOnExit: boolean;
  /** How long a stop of all apps may take before the agent leaves anyway. */
  stopTimeoutMs: number;
  /** The environment that credentials and proxies may come from. */
  env: Record<string, string | undefined>;
  log: Logger;
}

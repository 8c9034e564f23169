/** What the HTTP server may see of the agent. The agent provides it. */
import type { Desired } from "../api/app-shapes.ts";
import type { NCAppStatus } from "../api/types.ts";
import type { NodeUsage } from "../node/usage.ts";
import type { SourceProblem } from "../sources/source.ts";
import type { Usage } from "../supervisor/confinement/confinement.ts";
import type { LauncherState } from "../supervisor/launcher/launcher.ts";
import type { NodeSize } from "../supervisor/metering.ts";
import type { ProbeFailures } from "../supervisor/probes/probes.ts";

export interface AgentView {
  version: string;
  node: string;
  startedAt: Date;
  size: NodeSize;
  /** Whether caps can be enforced on this node, if not why, and whether apps with caps then do not start. */
  limits: { enforced: boolean; strict: boolean; message: string };
  /** Whether apps can start, and why not. */
  launcher(): LauncherState;
  sources(): { name: string; ready: boolean; message: string; since: Date }[];
  problems(): SourceProblem[];
  apps(): AppView[];
  app(namespace: string, name: string): AppView | undefined;
  /** What happened to apps: the last events of each, or those since a time; one list per app, oldest first. */
  events(query: EventQuery): AsyncIterable<AppEventView[]>;
  /** Everything that is known to have happened to an app, also to one that was removed; undefined if that is nothing. */
  appHistory(namespace: string, name: string, since?: number): Promise<HistoryEntry[] | undefined>;
  /** How many entries of histories could not be written. */
  lostHistory(): number;
  /** Calls back with the key of every app that was added, changed, measured or removed, until the returned function is called. */
  onChange(listener: (key: string) => void): () => void;
  /** The checks of `/readyz`. */
  checks(): Check[];
  /** Usage of the node; undefined until it was measured. */
  nodeUsage(): NodeUsage | undefined;
  history(since: number): History;
}

/** The answer to `/status`, which commands and the dashboard read. */
export interface StatusAnswer extends Pick<AgentView, "version" | "node" | "size" | "limits"> {
  stateDir: string;
  logDir: string;
  /** Where the agent finds the API server and its credential; absent in a standalone agent. */
  access?: { kubeconfig?: string; server?: string; namespace?: string };
  startedAt: string;
  usage?: NodeUsage;
  launcher: LauncherState;
  sources: { name: string; ready: boolean; message: string; since: string }[];
  problems: SourceProblem[];
  checks: Check[];
  /** A summary of each app. */
  apps: (Pick<NCAppStatus, "phase" | "reason" | "ready"> & {
    namespace?: string;
    name: string;
    source: string;
  })[];
}

export interface AppView extends Pick<Desired, "app" | "source" | "origin"> {
  status: NCAppStatus;
  logFile: string;
  /** The run that commands enter, while the app runs. */
  run?: { id: string; folder: string };
  /** The caps in the kernel's units; absent where there is none. */
  limits: { cores?: number; memoryBytes?: number };
  /** The kernel's counters for the current run; absent while nothing runs. */
  usage?: Usage;
  /** When they were read, in milliseconds since 1970. */
  usageTime?: number;
  /** Failed probes since the agent started; absent if none has failed. */
  probeFailures?: ProbeFailures;
}

export interface EventQuery {
  /** Only those of this app: `namespace/name`. */
  app?: string;
  /** In milliseconds since 1970. Apps that were removed since then are included. */
  since?: number;
}

/** What happened to an app: an event, or how much it used. */
export interface HistoryEntry {
  /** When, in milliseconds since 1970; of several equal events, the last. */
  time: number;
  type?: "Normal" | "Warning";
  reason?: string;
  message?: string;
  /** How often it happened and since when, if more than once. */
  count?: number;
  since?: number;
  /** How the run ended whose end this is. */
  exit?: NonNullable<NCAppStatus["lastExit"]>;
  /** In five minutes: CPU and throttling on average, memory at most; in percent. */
  usage?: { cpuPCT?: number; memPCT?: number; throttledPCT?: number };
}

export interface AppEventView {
  /** `namespace/name`. */
  app: string;
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
}

export interface Check {
  name: string;
  ok: boolean;
  message: string;
}

/** Measurements of the last half hour, oldest first. Shares are percent of the node; null: not measured. */
export interface History {
  periodSeconds: number;
  /** The number of the first sample here; the following ones count up. */
  first: number;
  /** The number of the last sample: `since` for the next request. */
  last: number;
  /** When the last sample was taken, in milliseconds since 1970. */
  at: number;
  node: Series;
  /** By `namespace/name`. */
  apps: Record<string, AppSeries>;
}

export interface Series {
  cpuPCT: (number | null)[];
  memPCT: (number | null)[];
}

export interface AppSeries extends Series {
  /** Share of the time for which the CPU cap throttled the app; absent if it never did. */
  throttledPCT?: (number | null)[];
  /** The samples before which the app had OOM kills, and before which it was restarted. */
  oomKills: number[];
  restarts: number[];
}

/**
 * What the HTTP server and the reports may see of the agent; the wiring provides it.
 */
import type { NCAppStatus } from "../api/types.ts";
import type { NodeUsage } from "../node/usage.ts";
import type { SourceProblem } from "../sources/source.ts";
import type { Usage } from "../supervisor/confinement/confinement.ts";
import type { NodeSize } from "../supervisor/metering.ts";
import type { RunnableApp } from "../supervisor/types.ts";

export interface AgentView {
  version: string;
  node: string;
  startedAt: Date;
  size: NodeSize;
  /** Whether caps can be enforced on this node, and if not why. */
  limits: { enforced: boolean; message: string };
  sources(): { name: string; ready: boolean; message: string; since: Date }[];
  problems(): SourceProblem[];
  apps(): AppView[];
  app(namespace: string, name: string): AppView | undefined;
  /** Calls back with the key of every app that was added, changed, measured or removed, until the returned function is called. */
  onChange(listener: (key: string) => void): () => void;
  /** What `/readyz` asks, each with a name. */
  checks(): Check[];
  /** How the node fares; undefined until it was looked at. */
  nodeUsage(): NodeUsage | undefined;
  /** What was measured after sample `since`. */
  history(since: number): History;
}

export interface AppView {
  app: RunnableApp;
  source: string;
  origin?: string;
  status: NCAppStatus;
  logFile: string;
  /** The caps in the kernel's units; what is not capped is absent. */
  limits: { cores?: number; memoryBytes?: number };
  /** The kernel's counters for the present run; absent while nothing runs. */
  usage?: Usage;
}

export interface Check {
  name: string;
  ok: boolean;
  message: string;
}

/** Measurements over the last half hour, oldest first. Shares are percent of the node; null: nothing was measured. */
export interface History {
  periodSeconds: number;
  /** The number of the first sample that is told; each one after it is one higher. */
  first: number;
  /** The number of the last one; asked for the next time, it leaves out what was told already. */
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
  /** Share of the time for which its CPU cap held it back; absent where it never did. */
  throttledPCT?: (number | null)[];
  /** The samples in which processes of it had been killed for want of memory, and in which it had been restarted. */
  oomKills: number[];
  restarts: number[];
}

/** The only input of the invariants, so that each can be tested on made-up evidence. */
import type { NCApp, NCAppSet } from "../../../src/api/types.ts";
import type { StormApp } from "./ledger.ts";
import type { LiveProcess } from "./live.ts";
import type { Story } from "./witness.ts";

export interface Evidence {
  /** The NCApps of the API server. */
  objects: NCApp[];
  /** The apps that the storm currently wants, and those that it deleted. */
  apps: StormApp[];
  past: StormApp[];
  live: LiveProcess[];
  stories: Story[];
  nodes: NodeEvidence[];
  /** Each run's own record of its log lines. */
  lines: Map<string, LineNotes>;
  fleet?: FleetEvidence;
}

/** The set that the storm rolls. */
export interface FleetEvidence {
  set: NCAppSet;
  /** The version that was last asked for. */
  version: string;
  nodes: readonly string[];
  live: FleetProcess[];
}

export interface FleetProcess {
  pid: number;
  name: string;
  run: string;
  version: string;
}

export interface NodeEvidence {
  name: string;
  /** "ok", or the problem that the agent reports. */
  readiness: string;
  /** What the agent logged. */
  log: string;
  /** The apps' logs, all parts joined in order, by app name. */
  appLogs: Map<string, string>;
  /** Whether the disk of the logs was ever full: the oldest part of a log may be missing. */
  logsWereFull: boolean;
  /** Traces of apps and runs on disk, in the kernel and in /proc, each with its place. */
  traces: Trace[];
}

export interface Trace {
  where: string;
  /** The app or the run that it belongs to. */
  app?: string;
  run?: string;
}

export interface LineNotes {
  wrote: number[];
  failed: number[];
}

/** An invariant: returns the violations that the evidence shows. */
export interface Invariant {
  name: string;
  judge(evidence: Evidence): string[];
}

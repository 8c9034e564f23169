/** All that the invariants judge by. They see nothing else, so that each can be tried on made-up evidence. */
import type { NCApp } from "../../../src/api/types.ts";
import type { StormApp } from "./ledger.ts";
import type { LiveProcess } from "./live.ts";
import type { Story } from "./witness.ts";

export interface Evidence {
  /** The NCApps as the API server has them. */
  objects: NCApp[];
  /** The apps that the storm wants now, and those that it has deleted. */
  apps: StormApp[];
  past: StormApp[];
  live: LiveProcess[];
  stories: Story[];
  nodes: NodeEvidence[];
  /** What each run's own notes say about its log lines. */
  lines: Map<string, LineNotes>;
}

export interface NodeEvidence {
  name: string;
  /** "ok", or what the agent says is wrong with itself. */
  readiness: string;
  /** What the agent logged. */
  log: string;
  /** The apps' logs, all parts joined in order, by app name. */
  appLogs: Map<string, string>;
  /** The disk of the logs was full at some time: the oldest part of a log may be gone. */
  logsWereFull: boolean;
  /** What is on disk, in the kernel and in /proc about apps and runs, with where it was found. */
  traces: Trace[];
}

export interface Trace {
  where: string;
  /** The app or the run that it is about. */
  app?: string;
  run?: string;
}

export interface LineNotes {
  wrote: number[];
  failed: number[];
}

/** An invariant: the complaints that the evidence gives rise to. */
export interface Invariant {
  name: string;
  judge(evidence: Evidence): string[];
}

/**
 * What the HTTP server and the reports may see of the agent; the wiring provides it.
 */
import type { NCAppStatus } from "../api/types.ts";
import type { SourceProblem } from "../sources/source.ts";
import type { RunnableApp } from "../supervisor/types.ts";

export interface AgentView {
  version: string;
  node: string;
  startedAt: Date;
  /** Whether caps can be enforced on this node, and if not why. */
  limits: { enforced: boolean; message: string };
  sources(): { name: string; ready: boolean; message: string; since: Date }[];
  problems(): SourceProblem[];
  apps(): AppView[];
  app(namespace: string, name: string): AppView | undefined;
  /** What `/readyz` asks, each with a name. */
  checks(): Check[];
}

export interface AppView {
  app: RunnableApp;
  source: string;
  origin?: string;
  status: NCAppStatus;
  logFile: string;
}

export interface Check {
  name: string;
  ok: boolean;
  message: string;
}

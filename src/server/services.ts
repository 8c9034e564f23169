/** What the routes work with, the same behind every listener. The agent provides it. */
import type { NCApp } from "../api/types.ts";
import type { Logger } from "../lib/log.ts";
import type { AgentCounters } from "./counters.ts";
import type { AgentView } from "./view.ts";

export interface Services {
  view: AgentView;
  actions: AppActions;
  counters: AgentCounters;
  log: Logger;
  /** The agent's state folder, for commands that read it themselves. */
  stateDir: string;
  /** Followed logs and watches: each holds a connection until its client leaves. */
  followers: { now: number; readonly most: number };
}

/** What clients of the unix socket may do to apps. */
export interface AppActions {
  /** Stores this valid app, with its namespace, as desired. */
  put(app: NCApp): Promise<ActionResult>;
  remove(namespace: string, name: string): Promise<ActionResult>;
  /** Runs the app again; one that was stopped or has ended is started. */
  restart(namespace: string, name: string): Promise<ActionResult>;
  stop(namespace: string, name: string): Promise<ActionResult>;
  start(namespace: string, name: string): Promise<ActionResult>;
}

/** An expected refusal is a value: the app is unknown or of another source, the node is full, the disk fails. */
export type ActionResult = {
  done: true;
  created: boolean;
  /** The app as now desired; absent after a removal. */
  app?: NCApp;
} | {
  done: false;
  code: 403 | 404 | 409 | 503;
  message: string;
};

/** What the routes work with, the same behind every listener. The agent provides it. */
import type { NCApp } from "../api/types.ts";
import type { Logger } from "../lib/log.ts";
import type { AgentCounters } from "./counters.ts";
import type { AgentView, StatusAnswer } from "./view.ts";

export interface Services {
  view: AgentView;
  actions: AppActions;
  counters: AgentCounters;
  log: Logger;
  /** The agent's state folder, for commands that read it themselves. */
  stateDir: string;
  logDir: string;
  access?: StatusAnswer["access"];
  /** The link that opens the dashboard; undefined while no loopback address is served. */
  dashboardURL(): string | undefined;
  /** Followed logs and watches of this listener: each holds a connection until its client leaves. */
  followers: ClientLimit;
  /** Logs that clients of this listener read at the moment. */
  readers: ClientLimit;
}

/** A limit for streams. Each listener has its own, so that the clients of one cannot shut out those of another. */
export interface ClientLimit {
  now: number;
  readonly most: number;
  /** What the clients do, for the message to one too many. */
  readonly use: string;
}

/** What clients of the unix socket may do to apps. */
export interface AppActions {
  /** Stores this valid app, with its namespace, as desired; a dry run only says what that would change. */
  put(app: NCApp, options?: { dryRun?: boolean }): Promise<ActionResult>;
  remove(namespace: string, name: string): Promise<ActionResult>;
  /** Runs the app again; one that was stopped or has ended is started. */
  restart(namespace: string, name: string): Promise<ActionResult>;
  /** Stops the app until it is started, whatever its source wants. */
  stop(namespace: string, name: string): Promise<ActionResult>;
  /** Starts an app that was stopped, waits for its backoff or has ended. */
  start(namespace: string, name: string): Promise<ActionResult>;
  /** Makes the app reload its configuration, and waits for the outcome. */
  reload(namespace: string, name: string): Promise<ActionResult>;
  /** Runs an app with a schedule now. */
  trigger(namespace: string, name: string): Promise<ActionResult>;
  /** Brings back the last good version of an app or, if that is in force, the one before. */
  undo(namespace: string, name: string): Promise<ActionResult>;
}

/** An expected refusal is a value: the app is unknown or of another source, the node is full, the disk fails. */
export type ActionResult = {
  done: true;
  /** What a put changed. */
  change?: "created" | "configured" | "unchanged";
  /** A put made or would make the app restart. */
  restarts?: boolean;
  /** What the user should know about an app that was put. */
  warnings?: string[];
  /** Only for a dry run: why the put would be refused, since another source has the app. */
  refused?: string;
  /** The app as now desired; absent after a removal. */
  app?: NCApp;
} | {
  done: false;
  code: 403 | 404 | 409 | 500 | 503;
  message: string;
};

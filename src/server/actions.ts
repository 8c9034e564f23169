/**
 * What the unix socket may have the agent do; the wiring provides it.
 */
import type { NCApp } from "../api/types.ts";

/** An expected no is a value: the app is unknown, it is another source's, there is no room, the disk refuses. */
export type ActionResult = {
  done: true;
  created: boolean;
  /** The app as it is wanted now; absent when it is given up. */
  app?: NCApp;
} | {
  done: false;
  code: 403 | 404 | 409 | 503;
  message: string;
};

export interface AppActions {
  /** Wants this valid app, with its namespace, to be as it says. */
  put(app: NCApp): Promise<ActionResult>;
  remove(namespace: string, name: string): Promise<ActionResult>;
  /** Runs it anew; one that was stopped or has ended is started. */
  restart(namespace: string, name: string): Promise<ActionResult>;
  stop(namespace: string, name: string): Promise<ActionResult>;
  start(namespace: string, name: string): Promise<ActionResult>;
}

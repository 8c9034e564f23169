import type { Logger } from "../lib/log.ts";
import type { AppActions } from "./actions.ts";
import type { AgentCounters } from "./counters.ts";
import type { AgentView } from "./view.ts";

/** What the routes work with, the same behind every door. */
export interface Services {
  view: AgentView;
  actions: AppActions;
  counters: AgentCounters;
  log: Logger;
  /** Where the agent keeps its records: for those who read them beside it. */
  stateDir: string;
  /** Logs that are being followed: each holds a connection and a watch for as long as it likes. */
  followers: { now: number; readonly most: number };
}

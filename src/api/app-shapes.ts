/**
 * The shapes of an app on its way through an agent, and who makes which from which.
 *
 *     NCApp               as users write it and the API server has it (types.ts)
 *       │                 sources/: reads and validates it
 *     Desired<NCApp>      with where it comes from, and why it may not run as it is
 *       │                 sync/desired-state.ts: applies defaults, leaves out what only the API server uses
 *     Desired             what the supervisor is to run: a RunnableApp
 *       │                 supervisor/decide/: adds all that happens to it
 *     AppRecord           on disk (supervisor/types.ts)
 *       │                 supervisor/supervisor.ts: adds what ends with this agent, such as failed probes
 *     SupervisedApp
 *       ├─────────────────── agent/view/: with status and usage, without what is internal
 *       │                 AppView (server/view.ts), which is NodeApp for a command that asks the agent (cli/agent-api/)
 *       │                 agent/cluster-reports.ts: with status, without what the API server need not know
 *     ReportedApp         (report/apps/)
 *       │                 report/apps/: adds the NCApp that stands for it, which may be a mirror
 *     ShownApp            as a Pod (report/pods/)
 */
import type { DefaultedSpec, NCApp } from "./types.ts";

/** An NCApp as it is run: valid, with all defaults applied. */
export type RunnableApp = Omit<NCApp, "spec" | "status"> & { spec: DefaultedSpec };

/** An app that a source wants. */
export interface Desired<App extends NCApp | RunnableApp = RunnableApp> {
  app: App;
  source: string;
  /** File or URL, for messages. */
  origin?: string;
  /** What is wrong with the spec. A new app is not started from it; an app with a valid spec keeps that. */
  invalid?: string;
  /** The node on which the app may still run: it must not start here before it has stopped there. */
  heldBy?: string;
}

/**
 * The shapes of an app on its way through an agent, and who makes which from which.
 *
 *     NCApp             as users write it and the API server has it
 *       │                 sources/ validates it and says where it comes from
 *     Desired<NCApp>
 *       │                 sync/ applies defaults, and leaves out what only the API server uses
 *     Desired           what the supervisor is to run, as a RunnableApp
 *       │                 supervisor/decide/ adds what happens to it
 *     AppRecord         that, on disk
 *       │                 supervisor/ adds what ends with this agent, such as failed probes
 *     SupervisedApp
 *       ├─ agent/view/ adds status and usage, and leaves out what is internal
 *       │   AppView       for HTTP; a command that asks the agent reads it as NodeApp
 *       └─ agent/cluster-reports.ts adds the status, and leaves out what the API server need not know
 *           ReportedApp   for report/, which finds the object that gets it: a ReportTarget, its own or a mirror's
 *           ShownApp      with that object, for its Pod
 *
 * ServerApp is an NCApp that the API server has, so with uid and version. The controllers keep less of each app, since they have
 * those of the whole cluster: scheduler/ a SlimApp, from which it reads a SchedulerApp; sets/ an App.
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
  /** Who changed the spec last, as the API server recorded it. */
  editedBy?: string;
  /** The node on which the app may still run: it must not start here before it has stopped there. */
  heldBy?: string;
}

/**
 * The table of controllers. A new one is an entry here, its permissions in `api/controller-rules.ts`, and a file that exports a function
 * that creates it.
 */
import type { controllerRules } from "../api/controller-rules.ts";
import { electionLease, identitiesLease, setsLease } from "../api/names.ts";
import type { Controller } from "../kube/controller.ts";
import type { SchedulerOptions } from "../scheduler/scheduler.ts";

/** Of those that a process runs, `hub` is one for all. */
export type ControllerSettings = Omit<SchedulerOptions, "hub">;

export interface ControllerEntry {
  /** The Lease that a process must hold while this controller works. */
  lease(settings: Pick<ControllerSettings, "schedulerName">): string;
  load(settings: SchedulerOptions): Promise<Controller>;
}

/** The election of a process is for the Lease of its first controller, in this order. */
const table = {
  scheduler: {
    lease: ({ schedulerName }) => electionLease(schedulerName),
    load: async (settings) => (await import("../scheduler/scheduler.ts")).createSchedulerController(settings),
  },
  sets: {
    lease: () => setsLease,
    load: async (settings) => (await import("../sets/sets.ts")).createSetsController(settings),
  },
  identities: {
    lease: () => identitiesLease,
    load: async (settings) =>
      (await import("../identities/identities.ts")).createIdentitiesController(settings),
  },
} satisfies Record<keyof typeof controllerRules, ControllerEntry>;

export type ControllerName = keyof typeof table;

export const controllerNames = Object.keys(table) as ControllerName[];

/**
 * Those that run unless others are named. What approves certificates can become any user, so it has an account of its own, and is not for
 * the machine of an agent.
 */
export const usualControllers = controllerNames.filter((name) => name !== "identities");

export const controllerTable: Readonly<Record<ControllerName, ControllerEntry>> = table;

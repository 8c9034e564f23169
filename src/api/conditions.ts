/** Parts of status patches that agents and schedulers share. */
import type { NCAppSpec, NCAppStatus } from "./types.ts";

/** Reports whether an app is as it should be although it may not be ready: it has ended, is suspended, or waits for its time. */
export function isSettled(
  { spec, status: { phase, reason = "" } = {} }: {
    spec: Pick<NCAppSpec, "suspend" | "schedule" | "shellFile">;
    status?: Pick<NCAppStatus, "phase" | "reason">;
  },
): boolean {
  if (phase === "Succeeded") return true;
  if (phase === "Stopped") return spec.suspend === true;
  if (phase === "Running") return Boolean(spec.schedule);
  return phase === "Pending" &&
    (reason === "Scheduled" ? Boolean(spec.schedule) : reason === "NoShellFile" && !spec.shellFile);
}

/** A merge patch that removes the fields that describe a run, for an app that has no node. */
export const withoutRunFields = {
  pid: null,
  processes: null,
  startTime: null,
  cpuPCT: null,
  memPCT: null,
  memoryBytes: null,
  cpuThrottledPCT: null,
} as const;

/** Conditions that describe what an app does on its node. Without a node, it has only Ready and Reconciling of them. */
export const runConditions = ["Ready", "Reconciling", "Stalled", "Complete", "Failed", "Suspended"] as const;

/** Leaves out what an agent said about a run that is over. */
export function withoutRunConditions<C extends Condition>(conditions: readonly C[]): C[] {
  const stay: readonly string[] = ["Ready", "Reconciling"];
  const gone: readonly string[] = [...runConditions, "PodShown"];
  return conditions.filter(({ type }) => stay.includes(type) || !gone.includes(type));
}

/** The condition of an app that its agent asks the scheduler to move, as of a Pod that is evicted. */
export const disruptionCondition = "DisruptionTarget";

interface Condition {
  type: string;
  status: string;
  lastTransitionTime?: string;
}

/** Adds the transition time: that of the same condition in `before` if its status is unchanged, else `now`. */
export function withTransitionTime<C extends Condition>(
  condition: C,
  before: readonly Condition[] | undefined,
  now: string | undefined,
): C & { lastTransitionTime?: string } {
  const known = before?.find(({ type }) => type === condition.type);
  const isSame = known?.status === condition.status;
  const lastTransitionTime = isSame ? known.lastTransitionTime ?? now : now;
  return lastTransitionTime === undefined ? condition : { ...condition, lastTransitionTime };
}

/** From an NCApp to what the scheduler keeps of it. Pure. */
import { annotations, defaultNamespace, defaultSchedulerName, keyOf } from "../../api/names.ts";
import { parsePercent } from "../../api/percent.ts";
import type { NCApp, NCAppSpec, NCAppStatus, Phase } from "../../api/types.ts";
import { portNumber } from "../host-ports.ts";
import { toPoints } from "../points.ts";
import type { AppStatus, Placement, SchedulerApp } from "../types.ts";

/** Reads an app as the API server has it. Its priority is 0 until its PriorityClass is looked up. */
export function readApp(app: NCApp, schedulerName: string = defaultSchedulerName): SchedulerApp {
  const { metadata, spec, status = {} } = app;
  const { namespace = defaultNamespace, name, uid = "", resourceVersion = "", generation = 0 } = metadata;
  const { caps, problem } = readCaps(spec);
  const mirror = metadata.annotations?.[annotations.mirror] !== undefined;
  return {
    key: keyOf(app),
    namespace,
    name,
    uid,
    resourceVersion,
    generation,
    nodeName: spec.nodeName || undefined,
    ours: (spec.schedulerName || defaultSchedulerName) === schedulerName,
    ...caps,
    ports: (spec.ports ?? []).map(portNumber),
    priorityClassName: spec.priorityClassName ?? "",
    priority: 0,
    preempts: true,
    missingClass: false,
    placement: readPlacement(spec),
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    graceMs: (spec.terminationGracePeriodSeconds ?? 30) * 1000,
    observed: isObserved(status, generation, mirror),
    finished: isFinished(spec, status, generation),
    mirror,
    deleting: metadata.deletionTimestamp !== undefined,
    problem,
    status: keptStatus(status),
  };
}

/** True where the scheduler may take it off its node: not what is a node's own, another scheduler's, or going anyway. */
export function isMovable({ ours, mirror, deleting }: SchedulerApp): boolean {
  return ours && !mirror && !deleting;
}

function readCaps(spec: NCAppSpec): { caps: { cpu: number; mem: number }; problem?: string } {
  try {
    const cpu = parsePercent(spec.cpuPCT);
    const mem = parsePercent(spec.memPCT);
    return { caps: { cpu: toPoints(cpu ?? 0), mem: toPoints(mem ?? 0) } };
  } catch (error) {
    return { caps: { cpu: 0, mem: 0 }, problem: `cpuPCT or memPCT: ${(error as Error).message}` };
  }
}

/**
 * An app that ended and is not to start again, as a Pod that completed. With a schedule it comes back, and a changed spec starts
 * it again: then it counts.
 */
function isFinished(spec: NCAppSpec, status: NCAppStatus, generation: number): boolean {
  const ended = status.phase === "Succeeded" || status.phase === "Failed";
  return ended && !spec.schedule && (status.observedGeneration ?? generation) >= generation;
}

/**
 * Only agents write `observedGeneration`, and a bind is a new generation; a mirror is the agent's own, whose generation is not that of
 * its app. What has ended, or will not begin, agents do not count.
 */
function isObserved(
  { phase, reason, observedGeneration }: NCAppStatus,
  generation: number,
  mirror: boolean,
): boolean {
  return (mirror || observedGeneration === generation) && phase !== undefined && !uncounted.has(phase) &&
    reason !== "InvalidSpec";
}

const uncounted: ReadonlySet<Phase> = new Set(["Succeeded", "Failed", "Unknown"]);

/** Rules in one order, so that equal ones have equal keys. */
function readPlacement({ nodeSelector = {}, affinity, tolerations = [] }: NCAppSpec): Placement {
  const selector = Object.entries(nodeSelector).sort(([a], [b]) => a < b ? -1 : 1);
  const { nodeAffinity } = affinity ?? {};
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  if (selector.length + preferred.length + tolerations.length === 0 && !required) return anywhere;
  const key = JSON.stringify([selector, required, preferred, tolerations]);
  return { key, nodeSelector: selector, required, preferred, tolerations };
}

const anywhere: Placement = { key: "", nodeSelector: [], preferred: [], tolerations: [] };

function keptStatus(status: NCAppStatus): AppStatus {
  const { phase, reason, message, ready, nominatedNodeName, conditions } = status;
  return { phase, reason, message, ready, nominatedNodeName: nominatedNodeName || undefined, conditions };
}

/** What the scheduler knows about apps and nodes: only what it decides by. */
import type { EventTarget } from "../report/events/events.ts";
import type { Affinity, Condition, NodeSelectorTerm, Phase, Toleration } from "../api/types.ts";

/** How apps are laid out: over all nodes, or on as few as possible. */
export type Policy = "spread" | "binpack";

/** Where an app may run. Apps with equal rules have equal keys, and what was found out for one holds for all of them. */
export interface Placement {
  readonly key: string;
  readonly nodeSelector: readonly (readonly [key: string, value: string])[];
  readonly required?: readonly NodeSelectorTerm[];
  readonly preferred: NonNullable<
    NonNullable<Affinity["nodeAffinity"]>["preferredDuringSchedulingIgnoredDuringExecution"]
  >;
  readonly tolerations: readonly Toleration[];
}

/** An NCApp, as far as the scheduler reads it. Never changed: news make a new one. */
export interface SchedulerApp {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** Where it is bound to; undefined: nowhere. */
  readonly nodeName?: string;
  /** True where it is this scheduler that places it. */
  readonly ours: boolean;
  /** Points that it asks for; 0 where it has no cap. */
  readonly cpu: number;
  readonly mem: number;
  /** Host ports, as `portNumber` writes them. */
  readonly ports: readonly number[];
  readonly priorityClassName: string;
  readonly priority: number;
  /** False where its PriorityClass says that it never ends others. */
  readonly preempts: boolean;
  /** Its PriorityClass is not there. */
  readonly missingClass: boolean;
  readonly placement: Placement;
  readonly createdAt: number;
  readonly graceMs: number;
  /** Its agent has this very spec, the bind included, and counts its caps among what it has promised. */
  readonly observed: boolean;
  /** It ended for good: it holds nothing of its node any more. */
  readonly finished: boolean;
  /** It is a node's own app, shown in the API server: nobody else may move it. */
  readonly mirror: boolean;
  readonly deleting: boolean;
  /** Why it cannot be read, if so. */
  readonly problem?: string;
  readonly status: AppStatus;
}

/** Returns the app as the object of an Event. */
export function eventTarget({ namespace, name, uid }: SchedulerApp): EventTarget {
  return { namespace, name, uid };
}

/** The fields of a status that the scheduler reads or writes. */
export interface AppStatus {
  readonly phase?: Phase;
  readonly reason?: string;
  readonly message?: string;
  readonly ready?: boolean;
  readonly nominatedNodeName?: string;
  readonly conditions?: readonly Condition[];
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  /** Since when it is there, for NoExecute. */
  readonly since?: number;
}

/** A Node object, as far as the scheduler reads it. */
export interface NodeProperties {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly ready: boolean;
  readonly cordoned: boolean;
  /** `memory`, `disk`, `pid`: what its kubelet says is short. */
  readonly pressures: readonly string[];
}

/** Whether a node's agent shows signs of life: `none` where it never had one. */
export type AgentState = "none" | "fresh" | "stale";

/** What an agent said about its node. */
export interface NodeReport {
  /** When it was heard, by this machine's clock. */
  readonly at: number;
  /** Measured use, in points. */
  readonly cpu: number;
  readonly mem: number;
  /** Points that no app may have. */
  readonly reservedCpu: number;
  readonly reservedMem: number;
  /** Points that the agent has promised to nobody. */
  readonly freeCpu: number;
  readonly freeMem: number;
  readonly pressures: readonly string[];
}

/**
 * `node`: a node came, changed for the better, or its agent is heard again. `capacity`: shares or ports of a node came free. `left`: an
 * app has stopped on the node that it left. The others: the rules of a namespace changed, or what is used of them.
 */
export type ClusterEvent = "node" | "capacity" | "left" | "quota" | "limitRange";

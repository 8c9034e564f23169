/** What the scheduler knows about apps and nodes: only what it decides by. */
import type { Labels, LabelSelector } from "../api/label-selector.ts";
import type { Affinity, NCAppStatus, NodeSelectorTerm, Port, Toleration } from "../api/types.ts";
import type { EventTarget } from "../report/events/events.ts";

/** How apps are distributed: over all nodes, or on as few as possible. */
export type Policy = "spread" | "binpack";

/** Where an app may run. Apps with equal rules have equal keys and share cached answers. */
export interface Placement {
  readonly key: string;
  readonly nodeSelector: readonly (readonly [key: string, value: string])[];
  readonly required?: readonly NodeSelectorTerm[];
  readonly preferred: NonNullable<
    NonNullable<Affinity["nodeAffinity"]>["preferredDuringSchedulingIgnoredDuringExecution"]
  >;
  readonly tolerations: readonly Toleration[];
}

/** Chooses apps of one namespace by their labels. Equal selectors have equal keys and share counts. */
export interface AppSelector {
  readonly key: string;
  readonly namespace: string;
  readonly match: LabelSelector;
}

export interface AppTerm {
  readonly selector: AppSelector;
  readonly topologyKey: string;
}

/** How an app is placed among others. */
export interface SpreadRules {
  readonly constraints: readonly (AppTerm & { readonly maxSkew: number; readonly isHard: boolean })[];
  readonly avoids: readonly AppTerm[];
  readonly dislikes: readonly { readonly term: AppTerm; readonly weight: number }[];
}

/** The fields of an NCApp that the scheduler uses. Immutable: an update creates a new one. */
export interface SchedulerApp {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly nodeName?: string;
  /** When it was bound to that node, as far as known, in ms since the epoch. */
  readonly boundAt?: number;
  /** Whether this scheduler places it. */
  readonly ours: boolean;
  /** Requested points; 0 without a cap. */
  readonly cpu: number;
  readonly mem: number;
  /** Host ports, encoded by `portNumber`. */
  readonly ports: readonly number[];
  readonly priorityClassName: string;
  readonly priority: number;
  /** False if its PriorityClass forbids preemption. */
  readonly preempts: boolean;
  readonly missingClass: boolean;
  readonly placement: Placement;
  readonly labels: Labels;
  readonly spread: SpreadRules;
  /** Apps with the same one are spread: those of a set, or with the same name label in a namespace. */
  readonly family?: string;
  readonly createdAt: number;
  readonly graceMs: number;
  /** Its agent has seen this generation, including the bind, and counts its caps as promised. */
  readonly observed: boolean;
  /** It ended and will not start again, so it no longer uses its node. */
  readonly finished: boolean;
  /** It mirrors an app from a node's own manifests: the scheduler must not move it. */
  readonly mirror: boolean;
  readonly deleting: boolean;
  /** When this scheduler first saw that it is being deleted; 0 if it is not. */
  readonly deletedAt: number;
  /** It is being deleted, and its agent has reported that it has stopped. */
  readonly released: boolean;
  readonly finalizers: readonly string[];
  /** Why its spec cannot be read, if so. */
  readonly problem?: string;
  readonly status: AppStatus;
}

/**
 * The fields of a status that the scheduler reads or writes. `nodeName` is the node that holds the app; empty: the last one has let it
 * go. Absent: no agent has reported that.
 */
export const statusFields = [
  "phase",
  "reason",
  "message",
  "ready",
  "observedGeneration",
  "conditions",
  "nodeName",
  "nominatedNodeName",
] as const;

export type AppStatus = Readonly<Pick<NCAppStatus, typeof statusFields[number]>>;

export function eventTarget({ namespace, name, uid }: SchedulerApp): EventTarget {
  return { namespace, name, uid };
}

const protocols = ["TCP", "UDP", "SCTP"];

/** Encodes a port and its protocol as one number, which is cheaper than text as a key. */
export function portNumber({ port, protocol = "TCP" }: Port): number {
  return port * 4 + protocols.indexOf(protocol);
}

/** Decodes a port number: `8080/TCP`. */
export function formatPort(number: number): string {
  return `${number >> 2}/${protocols[number & 3]}`;
}

export type { NodeProperties, Taint } from "../api/placement/placement.ts";

/** Whether a node's agent is alive; `none` if it never had one. */
export type AgentState = "none" | "fresh" | "stale";

/** What an agent published about its node. */
export interface NodeReport {
  /** When it was received, by this machine's clock. */
  readonly at: number;
  /** Measured usage, in points. */
  readonly cpu: number;
  readonly mem: number;
  readonly reservedCpu: number;
  readonly reservedMem: number;
  /** Points that the agent has not promised to any app. */
  readonly freeCpu: number;
  readonly freeMem: number;
  readonly pressures: readonly string[];
}

/**
 * What may unblock parked apps. `node`: a node was added, changed for the better, or its agent is alive again. `capacity`: shares or
 * ports of a node became free. `apps`: in a namespace with rules about spreading an app came or went. `stopped`: an app has stopped on the node that it left. `quota`: a quota or its usage changed.
 * `limitRange`: a LimitRange changed.
 */
export type ClusterEvent = "node" | "capacity" | "apps" | "stopped" | "quota" | "limitRange";

/** What the sets controller knows about the cluster, and what it decides to do. */
import type { Budget } from "../api/placement/placement.ts";
import type { Reason } from "../api/reasons.ts";
import type { NodeProperties } from "../api/placement/placement.ts";
import type { AppTemplate, NCApp, NCAppSet, NCAppSetStatus, NCAppSpec } from "../api/types.ts";

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The metadata of objects that come from the API server. */
export interface Meta {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  creationTimestamp?: string;
  deletionTimestamp?: string;
}

export type AppSet = NCAppSet & { metadata: Meta & { generation?: number } };

/** An NCApp. Of apps that no set owns, the spec has only the node. */
export type App = Omit<NCApp, "metadata"> & { metadata: Meta & { generation?: number } };

/** A ControllerRevision: a template that the set has or had. */
export interface Revision {
  metadata: Meta;
  /** Larger numbers are newer. */
  revision: number;
  data?: AppTemplate;
}

export interface Node {
  name: string;
  properties: NodeProperties;
  /** `lost`: its Lease has expired. `doubtful`: that seems so, but was not observed long enough. `none`: it never had an agent, and runs no apps. */
  agent: "fresh" | "doubtful" | "lost" | "none";
}

/** What a plan is made from. */
export interface World {
  set: AppSet;
  /** What is wrong with the spec of the set, if anything. */
  problem?: string;
  /** The apps of the set, and those with its labels that no controller owns. */
  apps: readonly App[];
  /** Finds any app of the namespace: its name cannot be given to another. */
  appNamed(name: string): App | undefined;
  nodes: ReadonlyMap<string, Node>;
  /** The revisions that the set owns. */
  revisions: readonly Revision[];
  /** Finds any revision of the namespace. */
  revisionNamed(name: string): Revision | undefined;
  /** Budgets of the namespace, with what they still allow. */
  budgets: readonly (Budget & { left: number })[];
  now: number;
}

export interface NewApp {
  name: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  spec: NCAppSpec;
}

export type Action =
  | { kind: "createRevision"; name: string; hash: string; revision: number; data: AppTemplate }
  | { kind: "adoptRevision"; revision: Revision }
  | { kind: "renumberRevision"; revision: Revision; number: number }
  | { kind: "deleteRevision"; revision: Revision }
  /** Make the set the owner of an app that has none. */
  | { kind: "adopt"; app: App }
  /** Let go of an app whose labels no longer match the selector. */
  | { kind: "orphan"; app: App }
  | { kind: "create"; app: NewApp; revision: string }
  | { kind: "update"; app: App; patch: object; revision: string }
  | { kind: "delete"; app: App; why: string }
  /** Start or stop an app of a job, or note how it ended. */
  | { kind: "run"; app: App; patch: object }
  /** Delete the set itself, whose job has ended: the garbage collector deletes its apps. */
  | { kind: "deleteSet" };

export interface SetEvent {
  type: "Normal" | "Warning";
  reason: Reason;
  message: string;
}

export interface Plan {
  actions: Action[];
  status: NCAppSetStatus;
  events: SetEvent[];
  /** When to plan again although nothing has changed, in ms since the epoch. */
  checkAt?: number;
}

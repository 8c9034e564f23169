/**
 * Which node holds an app, and what the scheduler writes about that. Pure.
 *
 * `status.nodeName` is the node whose agent may still have processes of the app; empty: that agent has stopped it. Our finalizer keeps a
 * deleted app until then, so that its share and its ports stay used and `kubectl delete` waits for its end.
 */
import { nodeFinalizer } from "../../api/names.ts";
import type { SchedulerApp } from "../types.ts";

/**
 * What is known about the agent of a node. `silent`: its Lease has expired. `lost`: for longer than the app tolerates. `gone`: its Lease
 * was removed and not created again.
 */
export type NodePresence = "present" | "silent" | "lost" | "gone";

export type HoldStep =
  /** Replace the finalizers. */
  | { kind: "finalizers"; finalizers: string[]; why: string }
  /** Empty `status.nodeName`: its agent cannot do so any more. */
  | { kind: "release"; node: string; why: string };

/** How long the agent of the node may take to report an app that it has never reported, beyond the grace period. */
const unreportedMs = 10_000;

/** Returns the node that holds the app although it is not bound to it. */
export function heldElsewhere({ nodeName, status }: SchedulerApp): string | undefined {
  return status.nodeName && status.nodeName !== nodeName ? status.nodeName : undefined;
}

/** Reports whether there may be a step for the app, now or later. */
export function mayHaveHoldStep(app: SchedulerApp): boolean {
  return app.deleting || heldElsewhere(app) !== undefined || lacksFinalizer(app);
}

/** Returns the next write for the app; undefined if there is none yet. */
export function nextHoldStep(
  app: SchedulerApp,
  presenceOf: (node: string) => NodePresence,
  now: number,
): HoldStep | undefined {
  const elsewhere = heldElsewhere(app);
  if (!app.deleting) {
    const presence = elsewhere === undefined ? "present" : presenceOf(elsewhere);
    // It was moved, by a user or by the scheduler: nothing is left to wait for.
    if (elsewhere && presence !== "present") {
      return { kind: "release", node: elsewhere, why: describe(elsewhere, presence) };
    }
    if (!lacksFinalizer(app)) return undefined;
    return { kind: "finalizers", finalizers: [...app.finalizers, nodeFinalizer], why: "the app is bound" };
  }
  const why = whyReleased(app, presenceOf, now);
  if (why === undefined) return undefined;
  if (app.finalizers.includes(nodeFinalizer)) {
    const others = app.finalizers.filter((finalizer) => finalizer !== nodeFinalizer);
    return { kind: "finalizers", finalizers: others, why };
  }
  // Finalizers of others keep it: its share must not stay used meanwhile.
  return app.status.nodeName ? { kind: "release", node: app.status.nodeName, why } : undefined;
}

/** Returns why no node holds a deleted app any more; undefined if one does. */
function whyReleased(
  app: SchedulerApp,
  presenceOf: (node: string) => NodePresence,
  now: number,
): string | undefined {
  const holder = app.status.nodeName || app.nodeName;
  if (!holder) return "no node has it";
  if (app.released) return "it has stopped";
  const presence = presenceOf(holder);
  if (presence === "lost" || presence === "gone") return describe(holder, presence);
  if (app.status.nodeName) return undefined;
  return now - app.deletedAt > app.graceMs + unreportedMs
    ? `the agent of node ${holder} never reported it`
    : undefined;
}

function lacksFinalizer({ ours, mirror, deleting, nodeName, finalizers }: SchedulerApp): boolean {
  return ours && !mirror && !deleting && nodeName !== undefined && !finalizers.includes(nodeFinalizer);
}

function describe(node: string, presence: NodePresence): string {
  return presence === "gone" ? `the agent of node ${node} is gone` : `node ${node} is lost`;
}

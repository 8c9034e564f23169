/** Which apps belong to a set: its own, those that it adopts, and those that it lets go. */
import { annotations } from "../../api/names.ts";
import { matchesSelector } from "../../api/label-selector.ts";
import type { Action, App, Meta, World } from "../types.ts";
import { appName, isPinned, ordinalOf } from "./names.ts";
import { hasController } from "./revisions.ts";

export interface Members {
  own: App[];
  actions: Action[];
}

/**
 * Finds the apps of the set. As with ReplicaSets, an app without a controller that has the labels is adopted, but only if it also
 * has a name that the set would give it: an app that someone made by hand is never taken over, and so never deleted. Nor is the mirror
 * of a local app, which its agent writes.
 */
export function findMembers({ set, apps, nodes }: World): Members {
  const { uid, name, deletionTimestamp } = set.metadata;
  const own: App[] = [];
  const actions: Action[] = [];
  const isOwnName = (app: App) =>
    isPinned(set.spec)
      ? app.spec.nodeName !== undefined && nodes.has(app.spec.nodeName) &&
        app.metadata.name === appName(name, app.spec.nodeName)
      : ordinalOf(name, app.metadata.name) !== undefined;
  for (const app of apps) {
    const matches = matchesSelector(set.spec.selector, app.metadata.labels);
    if (isOwn(app, uid)) {
      if (matches || app.metadata.deletionTimestamp) own.push(app);
      else actions.push({ kind: "orphan", app });
    } else if (
      !hasController(app) && !isMarkedMirror(app) && matches && !app.metadata.deletionTimestamp &&
      !deletionTimestamp && isOwnName(app)
    ) {
      actions.push({ kind: "adopt", app });
    }
  }
  return { own, actions };
}

/** Reports whether the set with this uid is the controller of an object. */
export function isOwn({ metadata }: { metadata: Meta }, uid: string): boolean {
  return (metadata.ownerReferences ?? []).some((owner) => owner.controller && owner.uid === uid);
}

function isMarkedMirror({ metadata }: App): boolean {
  return metadata.annotations?.[annotations.mirror] !== undefined;
}

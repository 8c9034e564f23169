/**
 * Chooses how apps are held on this node: by cgroups with caps, by cgroups that only know and end processes, or by markers.
 */
import {
  type LocatedRoot,
  type LocateFailure,
  locateRoot,
  openInstance,
  releaseRoot,
} from "../../cgroups/mod.ts";
import type { Logger } from "../lib/log.ts";
import { createCgroupConfinement } from "../supervisor/cgroup-confinement.ts";
import type { Confinement } from "../supervisor/confinement.ts";
import { createMarkerConfinement } from "../supervisor/marker-confinement.ts";
import type { NodeSize } from "../supervisor/metering.ts";

export interface ConfineOptions {
  cgroupRoot?: string;
  /** The name of this agent's own part of the root; undefined for the one agent that a machine usually has. */
  instance?: string;
  size: NodeSize;
  log: Logger;
  locate?: typeof locateRoot;
}

export interface Confined {
  confinement: Confinement;
  /** Removes the root, if nothing is left in it. */
  release(): Promise<void>;
}

/** The strongest way that this machine has; says in the log which and why. */
export async function chooseConfinement(options: ConfineOptions): Promise<Confined> {
  const { cgroupRoot, log, locate = locateRoot } = options;
  const full = await locate({ override: cgroupRoot });
  if (full.ok) {
    log.info("limits are enforced by cgroup v2", { root: full.root, how: full.how });
    return useRoot(full, undefined, options);
  }
  log.warn("limits cannot be enforced on this node", { why: full.message });
  const counting = await locate({ override: cgroupRoot, need: [] });
  return counting.ok ? useRoot(counting, full.message, options) : useMarkers(full.message);
}

function useRoot(located: LocatedRoot, whyNoLimits: string | undefined, options: ConfineOptions): Confined {
  const { size, cgroupRoot, locate = locateRoot } = options;
  const root = ownPart(located, options);
  if (!root.ok) return useMarkers(root.message);
  const confinement = createCgroupConfinement({
    root,
    size,
    whyNoLimits,
    async restoreRoot() {
      const again = await locate({
        override: cgroupRoot,
        ...(whyNoLimits === undefined ? {} : { need: [] }),
      });
      const part = again.ok ? ownPart(again, options) : again;
      if (!part.ok) throw new Error(part.message);
    },
  });
  return { confinement, release: () => releaseRoot(located, root) };
}

function ownPart(
  located: LocatedRoot,
  { cgroupRoot, instance }: ConfineOptions,
): LocatedRoot | LocateFailure {
  return instance && cgroupRoot === undefined ? openInstance(located, instance) : located;
}

function useMarkers(why: string): Confined {
  return { confinement: createMarkerConfinement(why), release: async () => {} };
}

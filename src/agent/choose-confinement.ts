/**
 * Chooses how runs are confined on this node: by cgroups with all caps, with those caps whose controllers exist, by cgroups that
 * only track and end processes, or by markers.
 */
import {
  ensureLimits,
  limitsFor,
  type LocatedRoot,
  type LocateFailure,
  locateRoot,
  openInstance,
  recordScopeLimits,
  releaseRoot,
} from "../../cgroups/mod.ts";
import type { Logger } from "../lib/log.ts";
import {
  type Confinement,
  createCgroupConfinement,
  createMarkerConfinement,
  createNodeConfinement,
} from "../supervisor/confinement/confinement.ts";
import type { NodeSize } from "../supervisor/metering.ts";

export interface ConfineOptions {
  cgroupRoot?: string;
  /** Names this agent's part of the root; undefined for the only agent of a machine. */
  instance?: string;
  size: NodeSize;
  /** The share of the node that apps do not get. */
  reserved?: { memPCT: number };
  log: Logger;
  locate?: typeof locateRoot;
}

export interface Confined {
  confinement: Confinement;
  /** Removes the root if it is empty. */
  release(): Promise<void>;
}

/** After which time a cap that the apps exceed is tried again. */
const recapMs = 30_000;
/** The part of a given root for an agent without `instance`. */
const defaultPart = "nckubelet";

/** Returns the strongest confinement of this machine, and logs which one and why. */
export async function chooseConfinement(options: ConfineOptions): Promise<Confined> {
  const { log } = options;
  const { found, need, why } = await locateMost(options);
  if (!why && found.ok) log.info("limits are enforced by cgroup v2", { root: found.root, how: found.how });
  else if (need.length > 0) {
    log.warn("not all limits can be enforced on this node", { enforced: need.join(", "), why });
  } else log.warn("limits cannot be enforced on this node", { why });
  return found.ok ? useRoot(found, { need, why }, options) : useMarkers(why, options);
}

/** Finds a root with all controllers, else with the available ones or none, and why. */
async function locateMost({ cgroupRoot, locate = locateRoot }: ConfineOptions) {
  let need = ["cpu", "memory", "pids"];
  let found = await locate({ override: cgroupRoot, need });
  const causes: string[] = [];
  const missing = new Set<string>();
  while (!found.ok && need.length > 0) {
    causes.push(found.message);
    found.missing?.forEach((name) => missing.add(name));
    const rest = need.filter((name) => !missing.has(name));
    // A failure that names no controller will not go away with fewer of them.
    need = rest.length < need.length ? rest : [];
    found = await locate({ override: cgroupRoot, need });
  }
  // An enabled controller may still lack what a cap needs, as cpu does in a kernel without cpu.max.
  if (found.ok) found = { ...found, controllers: found.controllers.filter((name) => !missing.has(name)) };
  return { found, need, why: causes.join("; ") };
}

async function useRoot(
  located: LocatedRoot,
  { need, why }: { need: string[]; why: string },
  options: ConfineOptions,
): Promise<Confined> {
  const { size, cgroupRoot, locate = locateRoot } = options;
  const root = ownPart(located, options);
  if (!root.ok) return useMarkers(root.message, options);
  await capRoot(root, located, options);
  const current = createCgroupConfinement({
    root,
    size,
    whyNoLimits: why,
    async restoreRoot() {
      const again = await locate({ override: cgroupRoot, need });
      const part = again.ok ? ownPart(again, options) : again;
      if (!again.ok || !part.ok) throw new Error((part as LocateFailure).message);
      await capRoot(part, again, options);
    },
  });
  return { confinement: createNodeConfinement({ current, size }), release: () => releaseRoot(located, root) };
}

/** A configured root may be shared, also with other agents: each agent stays within its own part. */
function ownPart(
  located: LocatedRoot,
  { cgroupRoot, instance }: ConfineOptions,
): LocatedRoot | LocateFailure {
  const part = instance ?? (cgroupRoot === undefined ? undefined : defaultPart);
  return part ? openInstance(located, part) : located;
}

/**
 * Caps the memory of all apps together at what is not reserved. It also bounds what apps leave behind, such as files in /dev/shm: when
 * an app is deleted, the kernel charges them to the root. Apps that use more than a smaller cap are not killed: the cap follows their
 * usage down. A delegated root has the caps of its owner.
 */
async function capRoot(root: LocatedRoot, located: LocatedRoot, options: ConfineOptions): Promise<void> {
  const { size, reserved = { memPCT: 0 }, log } = options;
  const isOwn = root.root !== located.root || root.how === "plain";
  const isScope = !isOwn && root.how === "systemd-scope";
  if (!root.controllers.includes("memory") || !isOwn && !isScope) return;
  const wanted = limitsFor({ memPCT: 100 - reserved.memPCT }, size).filter(({ file }) =>
    file === "memory.max"
  );
  try {
    const { pending } = await ensureLimits(root.root, wanted);
    if (isScope) await recordScopeLimits(root.root);
    if (!pending) return;
    log.warn("the apps use more memory than they may together", { root: root.root, why: pending.message });
    setTimeout(() => void capRoot(root, located, options), recapMs).unref();
  } catch (error) {
    log.warn("cannot cap the memory of all apps together", { root: root.root, error });
  }
}

function useMarkers(why: string, { size }: ConfineOptions): Confined {
  const markers = createMarkerConfinement(why);
  return { confinement: createNodeConfinement({ current: markers, markers, size }), release: async () => {} };
}

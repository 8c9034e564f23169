/**
 * A cgroup v2 library: finds a root, creates a cgroup per app, enforces hard limits, measures usage, and ends apps.
 *
 * It imports only `node:` modules, and every function takes the folder that it works on. See README.md.
 */
export { createCgroup, openCgroup } from "./create.ts";
export { CgroupError } from "./error.ts";
export { isPopulated, waitUntilEmpty, watchEmpty } from "./events.ts";
export { freeze, thaw } from "./freeze.ts";
export { kill, signalAll } from "./kill.ts";
export { ensureLimits, resetProtections, verifyLimits } from "./limits/apply.ts";
export { type Limit, limitsFor, type LimitSpec, type NodeSize, splitByControllers } from "./limits/limits.ts";
export { openInstance, releaseRoot } from "./locate/instance.ts";
export { type LocatedRoot, type LocateOptions, locateRoot } from "./locate/locate.ts";
export { explainMissing, findMount, type LocateFailure, ownCgroup } from "./locate/mounts.ts";
export { recallRoot } from "./locate/recall.ts";
export { recordScopeLimits } from "./locate/scope.ts";
export { checkName } from "./name.ts";
export { findEntry, listChildren, listProcesses, listTree, moveProcess } from "./processes.ts";
export { removeTree } from "./remove.ts";
export { readKills, readStats } from "./stats.ts";

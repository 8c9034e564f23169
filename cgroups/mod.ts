/**
 * A cgroup v2 library: find a root, make a cgroup per app, hold it to hard limits, measure it, end it.
 *
 * It imports only `node:` modules, and every function takes the folder it works on. See README.md.
 */
export { type ApplyEffects, type Drift, type Ensured, ensureLimits, verifyLimits } from "./limits/apply.ts";
export type { CpuStats } from "./limits/cpu.ts";
export { createCgroup, openApp, openRun } from "./create.ts";
export { CgroupError } from "./error.ts";
export { type EventHandlers, isPopulated, watchEvents, type WatchOptions } from "./events.ts";
export { freeze, thaw } from "./freeze.ts";
export { openInstance, releaseRoot } from "./locate/instance.ts";
export type { IoStats } from "./io.ts";
export { joinCommand } from "./join.ts";
export { kill, type KillOptions, signalAll } from "./kill.ts";
export { type Limit, limitsFor, type LimitSpec, type NodeSize, splitByControllers } from "./limits/limits.ts";
export { type LocatedRoot, type LocateOptions, locateRoot } from "./locate/locate.ts";
export type { MemoryEvents, MemoryStats } from "./limits/memory.ts";
export { explainMissing, findMount, type LocateFailure, ownCgroup } from "./locate/mounts.ts";
export { AGENT, appName, checkName, KEEPER } from "./name.ts";
export type { PidsStats } from "./limits/pids.ts";
export { parsePressure, type Pressure, type PressureStats, readPressure, type Stall } from "./pressure.ts";
export { listProcesses } from "./processes.ts";
export { recallRoot } from "./locate/recall.ts";
export { removeTree } from "./remove.ts";
export type { ResizePending } from "./limits/resize.ts";
export { cpuPercentSince, readStats, type Stats, throttledPercentSince } from "./stats.ts";
export { type WaitOptions, waitUntilEmpty } from "./wait.ts";

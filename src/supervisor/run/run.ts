/**
 * One run of an app, from its launch until nothing of it is left.
 *
 * `launchRun` starts it, `observeRun` says how it is, the launcher's marks say what happened while no agent looked, and `runInside`
 * runs commands beside its processes: exec probes, stop files and `nckubelet exec`.
 */
export {
  insideCommand,
  type InsideResult,
  LostWayInError,
  readLeaf,
  removeEnvironment,
  runInside,
} from "./enter.ts";
export type { ResolveValue } from "./environment.ts";
export { type Enforce, type LaunchDeps, launchRun } from "./launch.ts";
export { cancelRun, listMarkedRuns, removeMarks, waitForLauncher } from "./launcher-marks.ts";
export { watchMarks } from "./mark-watch.ts";
export { observeRun } from "./observe.ts";
export { listEnvironments } from "./run-environment.ts";
export { runStopFile } from "./stop-file.ts";

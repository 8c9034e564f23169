/**
 * One run of an app, from its launch until nothing of it is left.
 *
 * `launchRun` starts it, `observeRun` returns its state, the launcher's marks record what happened while no agent was running, and
 * `execInRun` runs commands beside its processes: exec probes, stop files and `nckubelet exec`.
 */
export { startCopier } from "./copy-log.ts";
export { execCommandLine, execInRun, type ExecResult } from "./enter.ts";
export {
  type ExecSession,
  exitCodeOf,
  findScriptProgram,
  noTerminal,
  startExecSession,
  terminalCommand,
  type TerminalSize,
} from "./exec-session.ts";
export type { ResolveValue } from "./environment.ts";
export { type Enforce, type LaunchDeps, launchRun } from "./launch.ts";
export {
  cancelRun,
  hasStarted,
  listMarkedRuns,
  removeMarks,
  waitForLauncher,
  watchMarks,
} from "./launcher-marks.ts";
export { observeRun } from "./observe.ts";
export { readLeaf, readRunUser, removeEnvironment, RunContextLostError } from "./run-context.ts";
export { listEnvironments } from "./run-environment.ts";
export { runStopFile } from "./stop-file.ts";

/**
 * One run of an app, from its launch until nothing of it is left.
 *
 * `launchRun` starts it, `observeRun` returns its state, the launcher's marks record what happened while no agent was running, and
 * `execInRun` runs commands beside its processes: exec probes, stop files, reload commands and `nckubelet exec`.
 */
export { findOutput, startCopier } from "./copy-log.ts";
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
export { encodeEnvironment, type ResolveValue } from "./environment.ts";
export { type Enforce, isStartBlocked, type LaunchDeps, launchRun, readScriptDigest } from "./launch.ts";
export {
  cancelRun,
  listMarkedRuns,
  prepareMarks,
  readMarks,
  removeMarks,
  runOfMark,
  startedPid,
  waitForLauncher,
  watchMarks,
} from "./launcher-marks.ts";
export { observeRun } from "./observe.ts";
export {
  readLeaf,
  readRunContext,
  readRunUser,
  removeEnvironment,
  RunContextLostError,
  saveRunContext,
} from "./run-context.ts";
export { listEnvironments } from "./run-environment.ts";
export { describeFailure, runStopFile } from "./stop-file.ts";

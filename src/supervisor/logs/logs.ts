/**
 * Reads the logs of apps as one stream; launchers write them, in numbered parts, and keep their limits (launcher/launcher.c).
 *
 * log-parts.ts lists the parts, log-index.ts knows when their bytes were written, and log-stream.ts joins them and finds where a time
 * or a run starts. read-log.ts reads lines from the stream (log-lines.ts, line-stamps.ts), and log-waiter.ts waits for more.
 * log-limits.ts tells launchers the limits.
 */
export { LimitFiles, type LogLimits, parseBytes, parseCount } from "./log-limits.ts";
export { listParts } from "./log-parts.ts";
export type { LogRun } from "./log-stream.ts";
export { hasPreviousRun, hasRun, readLog, type ReadLogOptions, readTail } from "./read-log.ts";

/** The most lines that a reader may ask for, counted from the end. */
export const maxTailLines = 1_000_000;

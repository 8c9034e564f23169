/**
 * Files and programs that may never answer: a hung NFS or FUSE mount blocks every thread that touches it, and Node has four threads
 * for all files.
 *
 * - Paths that users name are touched by child processes only: `look` and `read` of supervisor/launcher. run-program.ts runs programs.
 *   file-timeout.ts has the deadline.
 * - Folders that the agent itself uses, such as that of the logs, get a queue: at most one operation at a time (folder-queue.ts).
 * - A process with a blocked thread cannot exit by `process.exit`: hard-exit.ts.
 */
export { FileTimeoutError, fileTimeoutMs } from "./file-timeout.ts";
export {
  closeInQueue,
  inQueue,
  isHung,
  isRemoteFileSystem,
  openInQueue,
  whenItAnswers,
} from "./folder-queue.ts";
export { hardExit } from "./hard-exit.ts";
export { runProgram } from "./run-program.ts";

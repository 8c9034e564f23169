/** Rotates a log again and again until a test kills the process. Arguments: the log, the limit. */
import process from "node:process";
import { rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";

const [logPath = "", maxBytes = "0"] = process.argv.slice(2);
for (;;) {
  const { problem } = await rotateIfNeeded(logPath, { maxBytes: Number(maxBytes), maxFiles: 10_000 });
  if (problem) throw problem;
  process.stdout.write(".");
}

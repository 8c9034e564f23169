/**
 * One watch for all launchers: whatever one of them says about its run is told at once.
 */
import { watch } from "node:fs";
import { runOfMark } from "./launcher-marks.ts";

/** Calls back with the run whose mark changed, or undefined where that cannot be told; the returned function ends the watch. */
export function watchMarks(
  folder: string,
  onMark: (runId: string | undefined) => void,
  onError: (error: unknown) => void,
): () => void {
  try {
    const watcher = watch(
      folder,
      (_event, file) => onMark(file === null ? undefined : runOfMark(String(file))),
    ).on("error", onError);
    return () => watcher.close();
  } catch (error) {
    onError(error);
    return () => {};
  }
}

/** A folder of plain files in place of a cgroup, for tests that need no kernel. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../temp-folder.ts";

/** Creates the folder with these files; it is removed after the test. */
export function fakeCgroup(t: { after(fn: () => void): void }, files: Record<string, string> = {}): string {
  const dir = tempFolder(t).path;
  for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text);
  return dir;
}

/** A folder of plain files in the place of a cgroup, for what needs no kernel. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes the folder with these files; it is removed after the test. */
export function fakeCgroup(t: { after(fn: () => void): void }, files: Record<string, string> = {}): string {
  const dir = mkdtempSync(join(tmpdir(), "cgroup-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text);
  return dir;
}

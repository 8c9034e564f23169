import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of one test. */
export interface TempFolder extends Disposable {
  path: string;
  remove(): void;
}

/**
 * Makes an empty folder. It is removed with all that it contains at the end of the block with `using temp = tempFolder()`, of the
 * test with `tempFolder(t)`, or of the suite or file with `tempFolder({ after })`.
 */
export function tempFolder(t?: { after(fn: () => void): void }): TempFolder {
  const path = mkdtempSync(join(tmpdir(), "nckubelet-test-"));
  const remove = () => rmSync(path, { recursive: true, force: true });
  t?.after(remove);
  return { path, remove, [Symbol.dispose]: remove };
}

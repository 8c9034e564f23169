/** Scripts that create a file first: cheap, so that the measurement adds little to the start. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempFolder } from "../test/temp-folder.ts";
import { waitFor } from "../test/wait-for.ts";

export interface StartedFiles extends Disposable {
  folder: string;
  shellFile: string;
  /** The path that an app of this name creates. */
  fileOf(name: string): string;
  waitForAll(count: number, timeoutMs?: number): Promise<void>;
  clear(): Promise<void>;
}

/** Makes the script and the folder that it writes to. */
export async function createStartedFiles(): Promise<StartedFiles> {
  const temp = tempFolder();
  const folder = temp.path;
  const shellFile = join(folder, "start.sh");
  const started = join(folder, "started");
  await mkdir(started);
  await writeFile(shellFile, `#!/bin/sh\n: >"$1"\nexec sleep 3600\n`, { mode: 0o755 });
  return {
    folder,
    shellFile,
    fileOf: (name) => join(started, name),
    async waitForAll(count, timeoutMs = 120_000) {
      await waitFor(`${count} apps run`, async () => (await readdir(started)).length >= count, timeoutMs);
    },
    async clear() {
      await rm(started, { recursive: true });
      await mkdir(started);
    },
    [Symbol.dispose]: temp.remove,
  };
}

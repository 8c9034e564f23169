/**
 * The native launcher as a file: part of the executable, written to the state folder, where it can be executed.
 *
 * Guarantees: its name has its digest, and before an agent uses it, the file is a regular one of the agent's user that no other
 * user can write, with exactly the bytes of the executable. A file that differs is replaced.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { constants, open } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { ensureFolder, errorCode, writeFileAtomic } from "../../lib/files.ts";

export type Helper = { path: string } | { path?: undefined; why: string };

/** Writes the helper of this program to the state folder, unless it is there. */
export async function installHelper(
  stateDir: string,
  { readOwn = readOwnHelper }: { readOwn?: () => Uint8Array | undefined } = {},
): Promise<Helper> {
  const found = await findHelper(stateDir, { readOwn });
  const content = readOwn();
  if (found.path !== undefined || !content) return found;
  const path = helperPath(stateDir, content);
  try {
    await ensureFolder(stateDir, { mode: 0o711 });
    await writeFileAtomic(path, content, { mode: 0o700 });
    return await findHelper(stateDir, { readOwn });
  } catch (error) {
    return { why: (error as Error).message };
  }
}

/** Finds the helper of this program in the state folder, and checks it. */
export async function findHelper(
  stateDir: string,
  { readOwn = readOwnHelper }: { readOwn?: () => Uint8Array | undefined } = {},
): Promise<Helper> {
  const content = readOwn();
  if (!content) return { why: "this program was built without it" };
  const path = helperPath(stateDir, content);
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const info = await file.stat();
    const isSafe = info.isFile() && info.uid === process.geteuid?.() && (info.mode & 0o777) === 0o700;
    if (isSafe && info.size === content.length && digestOf(await file.readFile()) === digestOf(content)) {
      return { path };
    }
    return { why: `${path} is not the file that was installed` };
  } catch (error) {
    return { why: `cannot read ${path}: ${errorCode(error)}` };
  }
}

/** Reports whether this program has a native launcher for this machine. */
export function hasHelper(): boolean {
  return readOwnHelper() !== undefined;
}

function helperPath(stateDir: string, content: Uint8Array): string {
  return join(stateDir, `launcher-${digestOf(content).slice(0, 12)}`);
}

function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

const architectures: Record<string, string> = { x64: "amd64", arm64: "arm64" };

/** The helper inside of the executable, without a copy in memory; else that of the last build: in `dist`, or beside the bundle. */
function readOwnHelper(): Uint8Array | undefined {
  const sea = process.getBuiltinModule?.("node:sea");
  if (sea?.isSea()) {
    return sea.getAssetKeys().includes("launcher") ? new Uint8Array(sea.getRawAsset("launcher")) : undefined;
  }
  const here = import.meta.dirname ?? "";
  const dist = here.endsWith("/src/supervisor/launcher") ? join(here, "../../../dist") : here;
  const path = join(dist, `launcher-${architectures[process.arch]}`);
  return existsSync(path) ? readFileSync(path) : undefined;
}

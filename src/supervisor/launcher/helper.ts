/**
 * The launcher as a file: part of the executable, written to where it can be executed: the state folder or, if that is mounted noexec,
 * the folder that this program itself was executed from. Whoever may change that folder may change this program, too.
 *
 * Guarantees: its name has its digest, and before an agent uses it, the file is a regular one of the agent's user that no other
 * user can write, with exactly the bytes of the executable. A file that differs is replaced.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { constants, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { ensureFolder, errorCode, writeFileAtomic } from "../../lib/files.ts";

export type Helper = { path: string } | { path?: undefined; why: string };

export interface HelperOptions {
  readOwn?: () => Uint8Array | undefined;
  /** Where it goes if the state folder cannot be used. */
  programFolder?: string;
}

/** Writes the launcher of this program to a folder where it can be executed, unless it is there. */
export async function installHelper(stateDir: string, options: HelperOptions = {}): Promise<Helper> {
  return await eachPath(stateDir, options, async (path, content) => {
    const isThere = await isHelper(path, content).catch(() => false);
    if (!isThere) {
      await ensureFolder(dirname(path), { mode: 0o711 });
      await writeFileAtomic(path, content, { mode: 0o700 });
      await isHelper(path, content);
    }
  });
}

/** Finds the launcher of this program, and checks it. */
export async function findHelper(stateDir: string, options: HelperOptions = {}): Promise<Helper> {
  return await eachPath(stateDir, options, isHelper);
}

/** Reports whether this program has a launcher for this machine. */
export function hasHelper(): boolean {
  return readOwnHelper() !== undefined;
}

/** Returns the first path that `check` accepts and that can be executed, else all reasons. */
async function eachPath(
  stateDir: string,
  { readOwn = readOwnHelper, programFolder = dirname(process.execPath) }: HelperOptions,
  check: (path: string, content: Uint8Array) => Promise<unknown>,
): Promise<Helper> {
  const content = readOwn();
  if (!content) {
    const build = "npm run build -- --only launcher";
    return {
      why:
        `this program was built without a launcher for ${process.arch}: run '${build}', which takes a C compiler`,
    };
  }
  const digest = digestOf(content).slice(0, 12);
  const reasons: string[] = [];
  for (
    const path of [join(stateDir, `launcher-${digest}`), join(programFolder, `nckubelet-launcher-${digest}`)]
  ) {
    try {
      await check(path, content);
      await execute(path);
      return { path };
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  return { why: reasons.join("; ") };
}

async function isHelper(path: string, content: Uint8Array): Promise<true> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const info = await file.stat();
    const isSafe = info.isFile() && info.uid === process.geteuid?.() && (info.mode & 0o777) === 0o700;
    if (isSafe && info.size === content.length && digestOf(await file.readFile()) === digestOf(content)) {
      return true;
    }
  } catch (error) {
    throw new Error(`cannot read ${path}: ${errorCode(error)}`);
  }
  throw new Error(`${path} is not the file that was installed`);
}

/** With no request to check, it only exits. */
async function execute(path: string): Promise<void> {
  const child = spawn(path, ["check", "requests"], { stdio: "ignore", timeout: 10_000 });
  const [code, signal] = await once(child, "exit").catch((error) => [errorCode(error)]);
  if (code !== 0) throw new Error(`cannot execute ${path}: ${code ?? signal}`);
}

function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

const architectures: Record<string, string> = { x64: "amd64", arm64: "arm64" };

/** The launcher inside of the executable, without a copy in memory; else that of the last build: in `dist`, or beside the bundle. */
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

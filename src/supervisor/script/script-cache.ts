/**
 * Downloaded scripts, each under the digest of its content.
 *
 *   <cache>/<sha256>           a script, 0755
 *   <cache>/<sha256>.url       by the digest of a URL: the ETag of its last answer and the digest of the script
 *   <cache>/.download-*        an unfinished download, never executable
 *
 * Guarantees: a script never changes under its name (a shell reads its script while it runs). It is verified before each use, so a
 * flipped bit or a power loss leads to a new download. Symbolic links are not followed.
 *
 * Others can enter but not list the folder (0711), and read its scripts (0755), because apps may run as other users. The parent
 * folders must let these users through as well.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  chmod,
  constants,
  type FileHandle,
  lstat,
  open,
  readdir,
  rename,
  rm,
  utimes,
} from "node:fs/promises";
import { join } from "node:path";
import { ensureFolder, readIfExists, writeFileAtomic } from "../../lib/files.ts";

/** The last answer to a URL. */
export interface CachedAnswer {
  etag: string;
  /** The server that sent the ETag: another server may use the same ETag for something else. */
  origin: string;
  digest: string;
}

export interface Download {
  write(chunk: Uint8Array): Promise<void>;
  digest(): string;
  /** Makes the file executable, moves it to its final path and returns that. */
  commit(): Promise<string>;
  /** Removes the file, unless it was committed. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ScriptCache {
  /** Returns the path of the script with this digest, if it is in the cache and intact. */
  find(digest: string): Promise<string | undefined>;
  answerOf(url: string): Promise<CachedAnswer | undefined>;
  remember(url: string, answer: CachedAnswer): Promise<void>;
  startDownload(): Promise<Download>;
  /** Removes the least recently used files, down to `maxBytes`, and abandoned downloads. */
  prune(maxBytes: number): Promise<void>;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const abandonedAfterMs = 3_600_000;

/** The first download creates the folder. */
export function createScriptCache(
  folder: string,
  { now = Date.now }: { now?: () => number } = {},
): ScriptCache {
  const answerPath = (url: string) => join(folder, `${sha256(url)}.url`);
  return {
    async find(digest) {
      const path = join(folder, digest.toLowerCase());
      if (await digestOf(path) !== digest.toLowerCase()) return undefined;
      await chmod(path, 0o755);
      const time = new Date(now());
      await utimes(path, time, time);
      return path;
    },
    async answerOf(url) {
      return parseAnswer(await readIfExists(answerPath(url)).catch(() => undefined));
    },
    async remember(url, answer) {
      await writeFileAtomic(answerPath(url), JSON.stringify(answer));
    },
    async startDownload() {
      await ensureFolder(folder, { mode: 0o711 });
      await chmod(folder, 0o711);
      return await openDownload(folder, now);
    },
    async prune(maxBytes) {
      await prune(folder, maxBytes, now());
    },
  };
}

async function openDownload(folder: string, now: () => number): Promise<Download> {
  const path = join(folder, `.download-${randomBytes(8).toString("hex")}`);
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  const hash = createHash("sha256");
  let committed = false;
  const digest = () => hash.copy().digest("hex");
  return {
    async write(chunk) {
      hash.update(chunk);
      await writeAll(file, chunk);
    },
    digest,
    async commit() {
      const time = new Date(now());
      await file.utimes(time, time);
      await file.sync();
      await file.chmod(0o755);
      const target = join(folder, digest());
      await rename(path, target);
      committed = true;
      return target;
    },
    async [Symbol.asyncDispose]() {
      await file.close();
      if (!committed) await rm(path, { force: true });
    },
  };
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let done = 0; done < chunk.length;) done += (await file.write(chunk, done)).bytesWritten;
}

/** The digest of a regular file; undefined if there is none. */
async function digestOf(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!(await file.stat()).isFile()) return undefined;
    return sha256(await file.readFile());
  } catch {
    return undefined;
  }
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

function parseAnswer(text: string | undefined): CachedAnswer | undefined {
  try {
    const { etag, origin, digest } = JSON.parse(text ?? "null");
    const isValid = typeof etag === "string" && typeof origin === "string" && /^[0-9a-f]{64}$/.test(digest);
    return isValid ? { etag, origin, digest } : undefined;
  } catch {
    return undefined;
  }
}

async function prune(folder: string, maxBytes: number, now: number): Promise<void> {
  const files = await Promise.all((await readdir(folder)).map(async (name) => {
    const info = await lstat(join(folder, name)).catch(() => undefined);
    return { name, bytes: info?.size ?? 0, usedAt: info?.mtimeMs ?? now };
  }));
  const unfinished = files.filter(({ name }) => name.startsWith("."));
  const kept = files.filter((file) => !unfinished.includes(file)).sort((a, b) => b.usedAt - a.usedAt);
  let bytes = 0;
  const unwanted = [
    ...unfinished.filter(({ usedAt }) => now - usedAt > abandonedAfterMs),
    ...kept.filter((file) => (bytes += file.bytes) > maxBytes),
  ];
  for (const { name } of unwanted) await rm(join(folder, name), { force: true, recursive: true });
}

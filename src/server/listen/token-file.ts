/**
 * Tokens from a file: one per line; empty lines and those that begin with `#` are passed over. Whoever has one may read
 * everything. A changed file counts from the next request on; one that has become unusable leaves the old tokens valid.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { stat } from "node:fs/promises";
import { changingFile } from "../../kube/access/access.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import type { Authorize } from "../app.ts";

const shortest = 16;

/** Reads the file, which must hold a token, and makes the check by it. */
export async function openTokenFile(path: string, log: Logger): Promise<Authorize> {
  const file = changingFile(path, "--token-file");
  let text = await file.read();
  let digests = parseTokens(text, path).map(digest);
  if ((await stat(path)).mode & 0o077) log.warn("others may read the tokens: chmod 600 the file", { path });

  const reread = async () => {
    const now = await file.read();
    if (now === text) return;
    text = now;
    digests = parseTokens(now, path).map(digest);
  };
  return async (token) => {
    await reread().catch((error) => log.warn("going on with the old tokens", { why: describeError(error) }));
    const asked = digest(token);
    // Every one is compared, so that the time says nothing about which was near.
    return digests.filter((known) => timingSafeEqual(known, asked)).length > 0 ? "allowed" : "unknown";
  };
}

/** The tokens of a file's text; an error names the line, never the token. */
export function parseTokens(text: string, path: string): string[] {
  const lines = text.split("\n").map((line, index) => ({ token: line.trim(), number: index + 1 }));
  const tokens = lines.filter(({ token }) => token !== "" && !token.startsWith("#"));
  for (const { token, number } of tokens) {
    if (token.length < shortest || /\s/.test(token)) {
      throw new Error(`--token-file ${path}:${number}: not one word of at least ${shortest} characters`);
    }
  }
  if (tokens.length === 0) throw new Error(`--token-file ${path}: holds no token`);
  return tokens.map(({ token }) => token);
}

function digest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

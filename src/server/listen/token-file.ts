/**
 * Tokens from a file: one per line; empty lines and those that begin with `#` are ignored. Each token may read everything. A
 * changed file applies from the next request on; while it is unusable the old tokens stay valid.
 */
import { stat } from "node:fs/promises";
import { changingFile } from "../../kube/access/access.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import type { Authorize } from "../app.ts";
import { digest, isOneOf } from "./token-digest.ts";

const minLength = 16;

/** Reads the file, which must hold a token, and returns the check. */
export async function openTokenFile(path: string, log: Logger): Promise<Authorize> {
  const file = changingFile(path, "--token-file");
  let text = await file.read();
  let digests = parseTokens(text, path).map(digest);
  if ((await stat(path)).mode & 0o077) {
    log.warn("other users can read the token file: chmod 600 it", { path });
  }

  const reread = async () => {
    const now = await file.read();
    if (now === text) return;
    text = now;
    digests = parseTokens(now, path).map(digest);
  };
  return async (token) => {
    await reread().catch((error) => log.warn("keeping the old tokens", { why: describeError(error) }));
    return isOneOf(token, digests) ? "allowed" : "unknown";
  };
}

/** Returns the tokens of a file's text; an error names the line, never the token. */
export function parseTokens(text: string, path: string): string[] {
  const lines = text.split("\n").map((line, index) => ({ token: line.trim(), number: index + 1 }));
  const tokens = lines.filter(({ token }) => token !== "" && !token.startsWith("#"));
  for (const { token, number } of tokens) {
    if (token.length < minLength || /\s/.test(token)) {
      throw new Error(`--token-file ${path}:${number}: not one word of at least ${minLength} characters`);
    }
  }
  if (tokens.length === 0) throw new Error(`--token-file ${path}: holds no token`);
  return tokens.map(({ token }) => token);
}

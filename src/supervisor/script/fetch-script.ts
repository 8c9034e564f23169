/**
 * Turns the URL of a script into a local file.
 *
 * Guarantees:
 * - Nothing becomes executable before it is complete and its digest, if one is given, is right.
 * - A script whose digest is given and that is in the cache is not asked for at all.
 * - It ends: `limits.totalMs` after it began at the latest, and no more than `limits.maxBytes` are read.
 * - Without a digest the server is asked each time, with the ETag of the last answer. Where it cannot answer (no
 *   connection, too slow, 429, 5xx), the script that it gave last is used: a node that lost its network runs what it
 *   knew. A server that answers 404 has withdrawn the script.
 */
import type { LookupFunction } from "node:net";
import { showURL } from "../../api/shown-spec.ts";
import { type Answer, ask } from "./fetch-request.ts";
import {
  checkAnswer,
  checkHead,
  defaultLimits,
  type FetchLimits,
  naming,
  parseScriptURL,
  tooLarge,
} from "./fetch-rules.ts";
import { type CachedAnswer, createScriptCache, type ScriptCache } from "./script-cache.ts";
import { StartError } from "../start-error.ts";

export interface ScriptFetcherOptions {
  cacheDir: string;
  limits?: Partial<FetchLimits>;
  /** Certificates (PEM) to trust in place of the system's. */
  ca?: string;
  lookup?: LookupFunction;
  /** Hears when an old copy is used since the server could not be asked. */
  onStale?: (problem: StartError) => void;
  now?: () => number;
}

/** Returns the path of an executable copy; trouble is a StartError, except that an aborted signal throws its reason. */
export type ScriptFetcher = (url: string, sha256: string | undefined, signal: AbortSignal) => Promise<string>;

/** Makes a fetcher with a cache in `cacheDir`. */
export function createScriptFetcher(
  { cacheDir, onStale, now, ...options }: ScriptFetcherOptions,
): ScriptFetcher {
  const limits = { ...defaultLimits, ...options.limits };
  const cache = createScriptCache(cacheDir, { now });

  return async (text, sha256, signal) => {
    const url = parseScriptURL(text, sha256);
    const inCache = sha256 && await cache.find(sha256);
    if (inCache) return inCache;

    const known = sha256 ? undefined : await findKnown(cache, text);
    const headersFor = ({ origin }: URL): Record<string, string> =>
      known?.etag && known.origin === origin ? { "if-none-match": known.etag } : {};
    using deadline = startDeadline(limits.totalMs, signal);
    let status = 0;
    try {
      return await ask(url, { ...options, limits, headersFor, signal: deadline.signal }, async (answer) => {
        status = answer.status;
        if (status === 304 && known) return known.path;
        return await take(answer, sha256, { cache, limits, source: text });
      });
    } catch (error) {
      signal.throwIfAborted();
      const problem = deadline.expired() ? tooSlow(url, limits) : asStartError(error, url);
      if (!known || !mayPass(problem, status)) throw problem;
      onStale?.(problem);
      return known.path;
    }
  };
}

/** Whether the trouble is the network's or the server's for now, rather than an answer. */
function mayPass({ reason, cause }: StartError, status: number): boolean {
  if (reason === "DownloadTimeout") return true;
  return reason === "DownloadFailed" && (cause !== undefined || status === 429 || status >= 500);
}

/** Brings an answer into the cache. */
async function take(
  { url, status, headers, body }: Answer,
  sha256: string | undefined,
  { cache, limits, source }: { cache: ScriptCache; limits: FetchLimits; source: string },
): Promise<string> {
  checkAnswer(url, status, headers, sha256 !== undefined, limits);
  await using download = await cache.begin();
  let head = new Uint8Array();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) throw tooLarge(url, "the body is longer than allowed", limits.maxBytes);
    if (head.length < headBytes) head = new Uint8Array([...head, ...chunk.subarray(0, headBytes)]);
    await download.write(chunk);
  }
  checkHead(url, head);
  const digest = download.digest();
  if (sha256 && digest !== sha256.toLowerCase()) {
    const message = `spec.shellFileSHA256: ${
      showURL(url)
    } has the digest ${digest}, not ${sha256}: it was not kept`;
    throw new StartError("DigestMismatch", message);
  }
  const path = await download.keep();
  if (!sha256) {
    const etag = typeof headers.etag === "string" ? headers.etag : "";
    await cache.remember(source, { etag, origin: url.origin, digest });
  }
  await cache.prune(limits.cacheBytes);
  return path;
}

/** Enough to tell a web page from a script. */
const headBytes = 256;

/** The last answer to a URL, where its script is still there and whole. */
async function findKnown(
  cache: ScriptCache,
  url: string,
): Promise<CachedAnswer & { path: string } | undefined> {
  const answer = await cache.answerOf(url);
  const path = answer && await cache.find(answer.digest);
  return path ? { ...answer, path } : undefined;
}

/** One clock over the whole download: a byte a second never trips a limit on silence. */
function startDeadline(ms: number, outer: AbortSignal) {
  const clock = new AbortController();
  const timer = setTimeout(() => clock.abort(new Error(`more than ${ms} ms`)), ms);
  return {
    signal: AbortSignal.any([clock.signal, outer]),
    expired: () => clock.signal.aborted,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

function tooSlow(url: URL, { totalMs }: FetchLimits): StartError {
  return new StartError("DownloadTimeout", `${naming(url)}: not complete after ${totalMs / 1000} s`);
}

/** Refusals are StartErrors already, perhaps wrapped by the connection that they kept from being made. */
function asStartError(error: unknown, url: URL): StartError {
  if (error instanceof StartError) return error;
  const { cause, errors, message, code } = error as Error & { errors?: Error[]; code?: string };
  if (cause instanceof StartError) return cause;
  const why = message || errors?.map((one) => one.message).join("; ") || code || String(error);
  return new StartError("DownloadFailed", `${naming(url)}: ${why}`, { cause: error });
}

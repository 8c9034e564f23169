/**
 * Downloads a script to a local file.
 *
 * Guarantees:
 * - A file becomes executable only when it is complete and matches its digest, if one is given.
 * - A script with a given digest that is in the cache causes no request.
 * - A download ends after `limits.totalMs`, and reads no more than `limits.maxBytes`.
 * - Without a digest each download asks the server, with the ETag of the last response. If the server cannot answer (no connection,
 *   too slow, 429, 5xx), the last script is used: a node without its network runs what it has. A 404 withdraws the script.
 */
import type { LookupFunction } from "node:net";
import { showURL } from "../../api/shown-spec.ts";
import { type Answer, type Headers, httpGet } from "../../lib/http-get.ts";
import {
  checkAddress,
  checkAnswer,
  checkHead,
  defaultLimits,
  type FetchLimits,
  naming,
  nextHop,
  parseScriptURL,
  tooLarge,
} from "./fetch-rules.ts";
import { type CachedAnswer, createScriptCache, type ScriptCache } from "./script-cache.ts";
import { StartError } from "../types.ts";

export interface ScriptFetcherOptions {
  cacheDir: string;
  limits?: Partial<FetchLimits>;
  /** Certificates (PEM) to trust in place of the system's. */
  ca?: string;
  lookup?: LookupFunction;
  /** Called when an old copy is used because the server could not be asked. */
  onStale?: (problem: StartError) => void;
  now?: () => number;
}

/** Returns the path of an executable copy. Throws a StartError, or the reason of the signal if that aborts. */
export type ScriptFetcher = (url: string, sha256: string | undefined, signal: AbortSignal) => Promise<string>;

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
    // Limits the whole download: a server that sends a byte a second never hits an idle timeout.
    const deadline = AbortSignal.timeout(limits.totalMs);
    const request = {
      ...options,
      signal: AbortSignal.any([signal, deadline]),
      timeoutMs: limits.totalMs,
      headersFor,
      nextHop: (hop: URL, headers: Headers, followed: number) => nextHop(hop, headers, followed, limits),
      checkAddress,
    };
    let status = 0;
    try {
      return await httpGet(url, request, async (answer) => {
        status = answer.status;
        if (status === 304 && known) return known.path;
        return await saveScript(answer, sha256, { cache, limits, source: text });
      });
    } catch (error) {
      signal.throwIfAborted();
      const problem = deadline.aborted ? timedOut(url, limits) : asStartError(error, url);
      if (!known || !isTemporary(problem, status)) throw problem;
      onStale?.(problem);
      return known.path;
    }
  };
}

/** Reports whether the network or the server failed for now, as opposed to a definite answer. */
function isTemporary({ reason, cause }: StartError, status: number): boolean {
  if (reason === "DownloadTimeout") return true;
  return reason === "DownloadFailed" && (cause !== undefined || status === 429 || status >= 500);
}

async function saveScript(
  { url, status, headers, body }: Answer,
  sha256: string | undefined,
  { cache, limits, source }: { cache: ScriptCache; limits: FetchLimits; source: string },
): Promise<string> {
  checkAnswer(url, status, headers, sha256 !== undefined, limits);
  await using download = await cache.startDownload();
  let head = new Uint8Array();
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) throw tooLarge(url, "the body is too long", limits.maxBytes);
    if (head.length < headBytes) head = new Uint8Array([...head, ...chunk.subarray(0, headBytes)]);
    await download.write(chunk);
  }
  checkHead(url, head);
  const digest = download.digest();
  if (sha256 && digest !== sha256.toLowerCase()) {
    const message = `spec.shellFileSHA256: ${
      showURL(url)
    } has the digest ${digest}, not ${sha256}: the download was discarded`;
    throw new StartError("DigestMismatch", message);
  }
  const path = await download.commit();
  if (!sha256) {
    const etag = typeof headers.etag === "string" ? headers.etag : "";
    await cache.remember(source, { etag, origin: url.origin, digest });
  }
  await cache.prune(limits.cacheBytes);
  return path;
}

/** Enough to recognize a web page. */
const headBytes = 256;

/** The last answer to a URL, if its script is still in the cache and intact. */
async function findKnown(
  cache: ScriptCache,
  url: string,
): Promise<CachedAnswer & { path: string } | undefined> {
  const answer = await cache.answerOf(url);
  const path = answer && await cache.find(answer.digest);
  return path ? { ...answer, path } : undefined;
}

function timedOut(url: URL, { totalMs }: FetchLimits): StartError {
  return new StartError("DownloadTimeout", `${naming(url)}: not complete after ${totalMs / 1000} s`);
}

/** Refusals are StartErrors already, maybe wrapped by the connection that they prevented. */
function asStartError(error: unknown, url: URL): StartError {
  if (error instanceof StartError) return error;
  const { cause, errors, message, code } = error as Error & { errors?: Error[]; code?: string };
  if (cause instanceof StartError) return cause;
  const why = message || errors?.map((error) => error.message).join("; ") || code || String(error);
  return new StartError("DownloadFailed", `${naming(url)}: ${why}`, { cause: error });
}

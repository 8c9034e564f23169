/**
 * What may be downloaded as a script, and from where. Pure; every refusal is a StartError.
 *
 * Messages show a URL without user, password and query: a signed link or a token must not reach status or events.
 */
import { Buffer } from "node:buffer";
import { quote } from "../../api/field-error.ts";
import { showURL } from "../../api/shown-spec.ts";
import { headerValue } from "../../lib/http-get.ts";
import { type Headers } from "../../lib/http-get.ts";
import { hostAddress, isLinkLocal } from "../../lib/link-local.ts";
import { followRedirect, maxRedirects } from "../../lib/redirect.ts";
import { StartError } from "../start-error.ts";

export interface FetchLimits {
  maxBytes: number;
  /** From the first name lookup to the last byte, redirects included. */
  totalMs: number;
  maxRedirects: number;
  /** What the cache may hold before the scripts that were not used for longest go. */
  cacheBytes: number;
}

export const defaultLimits: FetchLimits = {
  maxBytes: 10 * 2 ** 20,
  totalMs: 30_000,
  maxRedirects,
  cacheBytes: 2 ** 30,
};

/** The URL of `spec.shellFile`, if it may be asked at all. */
export function parseScriptURL(text: string, sha256: string | undefined): URL {
  if (!URL.canParse(text)) throw new StartError("DownloadFailed", `${naming(text)} is not a URL`);
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new StartError("DownloadFailed", `${naming(url)}: only https: and http: can be downloaded`);
  }
  if (url.protocol === "http:" && !sha256) {
    throw new StartError("DigestRequired", `${naming(url)}: plain http needs spec.shellFileSHA256`);
  }
  checkAddress(url, hostAddress(url));
  return url;
}

/** Where a redirect leads, if it may be followed. `followed` counts the redirects before this one. */
export function nextHop(url: URL, headers: Headers, followed: number, { maxRedirects }: FetchLimits): URL {
  const next = followRedirect(url, headerValue(headers.location), followed, maxRedirects);
  if (!(next instanceof URL)) {
    const reason = next.kind === "broken" ? "DownloadFailed" : "ForbiddenRedirect";
    throw new StartError(reason, `${naming(url)}: ${next.message}`);
  }
  checkAddress(next, hostAddress(next));
  return next;
}

/** Refuses an answer by its status and headers, before any of its body is read. */
export function checkAnswer(
  url: URL,
  status: number,
  headers: Headers,
  pinned: boolean,
  { maxBytes }: FetchLimits,
) {
  if (status !== 200) throw new StartError("DownloadFailed", `${naming(url)}: the server answered ${status}`);
  const encoding = headerValue(headers["content-encoding"]) ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    // Compressed, a body can be a thousand times what was counted.
    const message = `${naming(url)}: the answer is compressed (${quote(encoding)}), which was not asked for`;
    throw new StartError("DownloadFailed", message);
  }
  const length = Number(headerValue(headers["content-length"]) ?? 0);
  if (length > maxBytes) throw tooLarge(url, `${length} bytes`, maxBytes);
  const type = headerValue(headers["content-type"]) ?? "";
  // A digest that fits is a better witness than what the server calls the file.
  if (!pinned && /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(type)) {
    throw notAScript(url, `Content-Type ${quote(type)}`);
  }
}

/** Refuses a body that is no script, by its first bytes. */
export function checkHead(url: URL, head: Uint8Array): void {
  if (head.length === 0) throw new StartError("NotAScript", `${naming(url)}: the file is empty`);
  const text = Buffer.from(head).toString("utf8");
  if (/^\uFEFF?\s*<(!doctype\s+html|html)\b/i.test(text)) throw notAScript(url, "it begins as an HTML page");
}

/** The refusal of a body that is, or says that it is, larger than allowed. */
export function tooLarge(url: URL, size: string, maxBytes: number): StartError {
  return new StartError("DownloadTooLarge", `${naming(url)}: ${size}, at most ${maxBytes} bytes are taken`);
}

/** Refuses link-local addresses: metadata services live there, and they trust whoever asks from this node. */
export function checkAddress(url: URL, address: string | undefined): void {
  if (address === undefined || !isLinkLocal(address)) return;
  throw new StartError(
    "ForbiddenAddress",
    `${naming(url)}: ${address} is a link-local address, which is never asked`,
  );
}

/** The field and its value, as every message begins. */
export function naming(url: URL | string): string {
  return `spec.shellFile: ${quote(showURL(url))}`;
}

function notAScript(url: URL, why: string): StartError {
  return new StartError("NotAScript", `${naming(url)}: a web page came instead of a script: ${why}`);
}

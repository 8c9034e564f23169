/**
 * What may be downloaded as a script, and from where. Pure; every refusal is a StartError.
 *
 * Messages show a URL without user, password and query: a signed link or a token must not reach status or events.
 */
import { Buffer } from "node:buffer";
import { quote } from "../../api/field-error.ts";
import { showURL } from "../../api/shown-spec.ts";
import { type Headers, headerValue } from "../../lib/http-get.ts";
import { describeMetadataAddress, hostAddress } from "../../lib/special-addresses.ts";
import { followRedirect, maxRedirects } from "../../lib/redirect.ts";
import { isNamedLikeArchive, notScript, readHead } from "./script-text.ts";
import { StartError } from "../types.ts";

export interface FetchLimits {
  maxBytes: number;
  /** From the first name lookup to the last byte, redirects included. */
  totalMs: number;
  maxRedirects: number;
  /** The size of the cache above which the least recently used scripts are removed. */
  cacheBytes: number;
}

export const defaultLimits: FetchLimits = {
  maxBytes: 10 * 2 ** 20,
  totalMs: 30_000,
  maxRedirects,
  cacheBytes: 2 ** 30,
};

/** Parses the URL of `spec.shellFile`; throws if it must not be downloaded. */
export function parseScriptURL(text: string, sha256: string | undefined): URL {
  if (!URL.canParse(text)) throw new StartError("DownloadFailed", `${naming(text)} is not a URL`);
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new StartError("DownloadFailed", `${naming(url)}: only https: and http: URLs can be downloaded`);
  }
  if (url.protocol === "http:" && !sha256) {
    throw new StartError("DigestRequired", `${naming(url)}: plain http needs spec.shellFileSHA256`);
  }
  // Before the download: it may be far larger than any script.
  if (isNamedLikeArchive(url.pathname)) {
    throw new StartError("InvalidScript", `${naming(url)} ${notScript}`);
  }
  checkAddress(url, hostAddress(url));
  return url;
}

/** Returns the target of a redirect; throws if it must not be followed. `followed` counts the redirects before this one. */
export function nextHop(url: URL, headers: Headers, followed: number, { maxRedirects }: FetchLimits): URL {
  const next = followRedirect(url, headerValue(headers.location), followed, maxRedirects);
  if (!(next instanceof URL)) {
    const reason = next.kind === "broken" ? "DownloadFailed" : "ForbiddenRedirect";
    throw new StartError(reason, `${naming(url)}: ${next.message}`);
  }
  checkAddress(next, hostAddress(next));
  return next;
}

/** Rejects an answer by its status and headers, before its body is read. */
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
    // A compressed body can expand to a thousand times its size.
    const message = `${naming(url)}: the answer is compressed (${
      quote(encoding)
    }), which the request did not allow`;
    throw new StartError("DownloadFailed", message);
  }
  const length = Number(headerValue(headers["content-length"]) ?? 0);
  if (length > maxBytes) throw tooLarge(url, `${length} bytes`, maxBytes);
  const type = headerValue(headers["content-type"]) ?? "";
  // A matching digest is better evidence than the type that the server claims.
  if (!pinned && /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(type)) {
    throw notAScript(url, `Content-Type ${quote(type)}`);
  }
}

/** Rejects a body that is not a script, by its first bytes. */
export function checkHead(url: URL, head: Uint8Array): void {
  if (head.length === 0) throw new StartError("NotAScript", `${naming(url)}: the file is empty`);
  const text = Buffer.from(head).toString("utf8");
  if (/^\uFEFF?\s*<(!doctype\s+html|html)\b/i.test(text)) {
    throw notAScript(url, "it starts like an HTML page");
  }
  if (readHead(head).archive) {
    throw new StartError("InvalidScript", `${naming(url)} ${notScript}`);
  }
}

export function tooLarge(url: URL, size: string, maxBytes: number): StartError {
  return new StartError("DownloadTooLarge", `${naming(url)}: ${size}, at most ${maxBytes} bytes are allowed`);
}

/** Rejects the addresses of metadata services, which trust every caller on this node. */
export function checkAddress(url: URL, address = ""): void {
  const what = describeMetadataAddress(address);
  if (!what) return;
  throw new StartError(
    "ForbiddenAddress",
    `${naming(url)}: ${address} is ${what}, which downloads must not use`,
  );
}

/** The field and its value, with which every message starts. */
export function naming(url: URL | string): string {
  return `spec.shellFile: ${quote(showURL(url))}`;
}

function notAScript(url: URL, why: string): StartError {
  return new StartError(
    "NotAScript",
    `${naming(url)}: the server sent a web page instead of a script: ${why}`,
  );
}

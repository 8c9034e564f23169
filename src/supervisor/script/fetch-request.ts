/** Asks for a script over HTTP by the rules for scripts; `httpGet` says what holds for each request. */
import type { LookupFunction } from "node:net";
import { type Answer, httpGet } from "../../lib/http-get.ts";
import type { Headers } from "../../lib/http-get.ts";
import { checkAddress, type FetchLimits, nextHop } from "./fetch-rules.ts";

export type { Answer } from "../../lib/http-get.ts";

export interface AskOptions {
  limits: FetchLimits;
  signal: AbortSignal;
  /** Headers for the server at this URL. */
  headersFor: (url: URL) => Record<string, string>;
  /** Certificates to trust in place of the system's. */
  ca?: string;
  lookup?: LookupFunction;
}

/** Passes the first answer that is no redirect to `use`, and closes the connection after that. */
export async function ask<T>(
  url: URL,
  { limits, ...options }: AskOptions,
  use: (answer: Answer) => Promise<T>,
): Promise<T> {
  const rules = {
    timeoutMs: limits.totalMs,
    checkAddress,
    nextHop: (hop: URL, headers: Headers, followed: number) => nextHop(hop, headers, followed, limits),
  };
  return await httpGet(url, { ...options, ...rules }, use);
}

/**
 * Asks for a script over HTTP, following redirects by hand so that each step passes the rules.
 *
 * Guarantees: an address is checked after its name was resolved and is the one that is connected to, so a name server
 * that changes its mind in between gains nothing; no connection outlives the call.
 */
import { Buffer } from "node:buffer";
import { lookup as systemLookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent, request } from "../lib/undici.ts";
import { checkAddress, type FetchLimits, type Headers, nextHop } from "./fetch-rules.ts";

export interface Answer {
  url: URL;
  status: number;
  headers: Headers;
  body: AsyncIterable<Uint8Array>;
}

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
export async function ask<T>(url: URL, options: AskOptions, use: (answer: Answer) => Promise<T>): Promise<T> {
  const { limits, signal, headersFor, ca, lookup = systemLookup } = options;
  for (let hop = url, followed = 0;; followed++) {
    const connect = { lookup: guard(hop, lookup), timeout: limits.totalMs, ...(ca ? { ca } : {}) };
    const agent = new Agent({ connect, allowH2: false });
    try {
      const { statusCode, headers, body } = await request(agent, {
        origin: hop.origin,
        path: hop.pathname + hop.search,
        method: "GET",
        headers: { accept: "*/*", "accept-encoding": "identity", ...authorization(hop), ...headersFor(hop) },
        signal,
        headersTimeout: limits.totalMs,
        bodyTimeout: limits.totalMs,
      });
      if (!isRedirect(statusCode)) return await use({ url: hop, status: statusCode, headers, body });
      body.on("error", () => {});
      hop = nextHop(hop, headers, followed, limits);
    } finally {
      await agent.destroy();
    }
  }
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

function authorization({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {};
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(plain).toString("base64")}` };
}

/** A lookup that refuses a name with a forbidden address among its addresses. */
function guard(url: URL, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const addresses = found as unknown as LookupAddress[];
      const [first] = addresses ?? [];
      if (error || !first) return callback(error ?? new Error(`${hostname} has no address`), "", 0);
      try {
        for (const { address } of addresses) checkAddress(url, address);
      } catch (refusal) {
        return callback(refusal as Error, "", 0);
      }
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

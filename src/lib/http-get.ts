/**
 * Asks for something over HTTP, following redirects by hand so that each step passes the caller's rules.
 *
 * Guarantees: an address is checked after its name was resolved and is the one that is connected to, so a name server
 * that changes its mind in between gains nothing; user and password of a URL go to the server of that URL, and are in no
 * message; no connection outlives the call.
 */
import { Buffer } from "node:buffer";
import { lookup as systemLookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent, request } from "./undici.ts";

/** The headers of an answer, by their lower-case names. */
export type Headers = Record<string, string | string[] | undefined>;

/** Returns the value of a header as one text. */
export function headerValue(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

export interface Answer {
  /** Who answered, after all redirects. */
  url: URL;
  status: number;
  headers: Headers;
  body: AsyncIterable<Uint8Array>;
}

export interface GetOptions {
  signal: AbortSignal;
  /** For the connection, for the head of the answer, and for each silence in its body. */
  timeoutMs: number;
  /** Headers for the server at this URL. */
  headersFor: (url: URL) => Record<string, string>;
  /** Where a redirect leads; throws where it must not be followed. `followed` counts the redirects before this one. */
  nextHop: (url: URL, headers: Headers, followed: number) => URL;
  /** Throws for an address of the URL's host that must not be connected to. */
  checkAddress: (url: URL, address: string) => void;
  /** Certificates to trust in place of the system's. */
  ca?: string;
  lookup?: LookupFunction;
}

/** Passes the first answer that is no redirect to `use`, and closes the connection after that. */
export async function httpGet<T>(
  url: URL,
  options: GetOptions,
  use: (answer: Answer) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs, headersFor, nextHop, ca } = options;
  for (let hop = url, followed = 0;; followed++) {
    const connect = { lookup: guard(hop, options), timeout: timeoutMs, ...(ca ? { ca } : {}) };
    const agent = new Agent({ connect, allowH2: false });
    try {
      const { statusCode, headers, body } = await request(agent, {
        origin: hop.origin,
        path: hop.pathname + hop.search,
        method: "GET",
        headers: { accept: "*/*", "accept-encoding": "identity", ...authorization(hop), ...headersFor(hop) },
        signal,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      if (!isRedirect(statusCode)) return await use({ url: hop, status: statusCode, headers, body });
      body.on("error", () => {});
      hop = nextHop(hop, headers, followed);
    } finally {
      await agent.destroy();
    }
  }
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

function authorization({ username, password }: URL): Record<string, string> {
  if (!username && !password) return {};
  const plain = `${decoded(username)}:${decoded(password)}`;
  return { authorization: `Basic ${Buffer.from(plain).toString("base64")}` };
}

/** A percent sign that begins no code stands for itself: passwords have them, and people paste them as they are. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A lookup that refuses a name with a forbidden address among its addresses. */
function guard(url: URL, { checkAddress, lookup = systemLookup }: GetOptions): LookupFunction {
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

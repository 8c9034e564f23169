/**
 * Sends an HTTP GET, and follows redirects itself so that each one passes the caller's rules.
 *
 * Guarantees: the address that is checked, after name resolution, is the one that is connected to, so DNS rebinding gains
 * nothing; user and password of a URL go to the server of that URL only, and appear in no message; no connection outlives
 * the call.
 */
import { Buffer } from "node:buffer";
import { lookup as systemLookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent, request } from "./undici.ts";

/** The headers of an answer, by their lower-case names. */
export type Headers = Record<string, string | string[] | undefined>;

export function headerValue(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

export interface Answer {
  /** The URL that answered, after all redirects. */
  url: URL;
  status: number;
  headers: Headers;
  body: AsyncIterable<Uint8Array>;
}

export interface GetOptions {
  signal: AbortSignal;
  /** The timeout of the connection, of the response headers, and between two chunks of the body. */
  timeoutMs: number;
  headersFor: (url: URL) => Record<string, string>;
  /** Returns the target of a redirect; throws if it must not be followed. `followed` counts the redirects before this one. */
  nextHop: (url: URL, headers: Headers, followed: number) => URL;
  /** Throws if an address of the URL's host must not be connected to. */
  checkAddress: (url: URL, address: string) => void;
  /** Certificates (PEM) to trust instead of the system's. */
  ca?: string;
  lookup?: LookupFunction;
}

/** Passes the first answer that is not a redirect to `use`, then closes the connection. */
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

/** Decodes percent-encoding. Text that is not encoded stays: passwords contain percent signs, and users paste them as they are. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a lookup that fails if any address of a name is forbidden. */
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

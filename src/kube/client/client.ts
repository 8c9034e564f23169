/**
 * Requests to the API server.
 *
 * Guarantees: every request ends, with an object or with a KubeError, within its deadline; the answer is bounded in size;
 * a 401 refreshes the credentials and is tried once more; 429 and 5xx with Retry-After are tried again when the server
 * says so, where that is within the deadline, and meanwhile hold no place; urgent requests do not queue behind others.
 * Caveats: nothing else is tried again here. Who sends a request knows whether it is still the newest, and has a backoff.
 * Waiting for a place is not bounded by the deadline, but by that of the requests before it and by the signal.
 */
import { sleep } from "../../lib/sleep.ts";
import { steadyNow } from "../../lib/time.ts";
import type { KubeAccess } from "../access/access.ts";
import { decodeAnswer, expectStream } from "./answer.ts";
import { type Call, prepareCall, type Query } from "./call.ts";
import { type Deadline, exchange, readStream, type RequestReport, startDeadline } from "./exchange.ts";
import { hasStatus, KubeError } from "../kube-error.ts";
import { createLimiter, type Priority } from "./limiter.ts";
import { createTransport, type Transport, type TransportResponse } from "./transport.ts";

export type { Asked } from "./answer.ts";
export type { Query } from "./call.ts";
export type { Priority } from "./limiter.ts";
export { createTransport } from "./transport.ts";

export type { RequestReport } from "./exchange.ts";

export interface KubeClient {
  readonly access: KubeAccess;
  request<T = unknown>(request: KubeRequest): Promise<T>;
  /** Opens a watch: the bytes of its lines, as they come. Ends with the server, throws a KubeError where it breaks. */
  stream(request: StreamRequest): Promise<AsyncIterable<Uint8Array>>;
  /** Ends idle connections now, the others when their requests are done. */
  close(): void;
}

export interface KubeRequest {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Query;
  body?: unknown;
  /** Default: a merge patch for PATCH, else JSON. */
  contentType?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
  priority?: Priority;
}

export interface StreamRequest {
  path: string;
  query?: Query;
  /** For the beginning of the answer; how long a stream may be silent is for its reader to say. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface ClientOptions {
  userAgent?: string;
  timeoutMs?: number;
  connectTimeoutMs?: number;
  maxBodyBytes?: number;
  /** Requests at the same time, watches not counted, and how many of these places are not for `low` ones. */
  places?: number;
  reserved?: number;
  retries?: number;
  /** A server that wants a longer wait gets no further try from here; the error carries the wait. */
  maxRetryAfterMs?: number;
  onRequest?: (report: RequestReport) => void;
  now?: () => number;
  transport?: Transport;
}

/** Makes a client for the server of `access`. */
export function createKubeClient(access: KubeAccess, options: ClientOptions = {}): KubeClient {
  const { timeoutMs = 30_000, maxBodyBytes = 16 << 20, retries = 3, maxRetryAfterMs = 30_000 } = options;
  const { connectTimeoutMs, userAgent = "nckubelet", now = Date.now, onRequest } = options;
  const { server, proxy } = access;
  const limiter = createLimiter({ places: options.places ?? 8, reserved: options.reserved ?? 3 });
  const transport = options.transport ?? createTransport({ server, proxy, connectTimeoutMs });
  const context = { access, transport, onRequest, now };

  /** A credential may have been replaced after it was read: a 401 is worth one more try. */
  const send: Send = async (call, deadline, use) => {
    try {
      return await exchange(context, call, deadline, use);
    } catch (error) {
      if (!hasStatus(error, 401)) throw error;
      access.refresh();
      return await exchange(context, call, deadline, use);
    }
  };

  const attempt = async (call: Call, request: KubeRequest) => {
    const deadline = startDeadline(request.timeoutMs ?? timeoutMs, request.signal);
    try {
      return await send(call, deadline, (response) => decodeAnswer(call.asked, response, maxBodyBytes));
    } finally {
      deadline.stop();
    }
  };

  return {
    access,
    async request<T>(request: KubeRequest) {
      const { priority = "normal", signal } = request;
      const call = prepareCall(server, userAgent, request);
      const until = steadyNow() + (request.timeoutMs ?? timeoutMs);
      for (let tries = 0;; tries++) {
        if (signal?.aborted) {
          throw new KubeError("given up by the caller", { ...call.asked, reason: "Aborted" });
        }
        try {
          return await limiter.run(priority, () => attempt(call, request), signal) as T;
        } catch (error) {
          const waitMs = wantedWait(error);
          if (!(error instanceof KubeError)) throw givenUp(call, error);
          if (waitMs === undefined || waitMs > maxRetryAfterMs || tries >= retries) throw error;
          // A Lease, for one, would be over before its renewal is tried again.
          if (steadyNow() + waitMs > until) throw error;
          await sleep(waitMs, signal);
          if (signal?.aborted) throw givenUp(call, signal.reason);
        }
      }
    },
    async stream(request) {
      const call = prepareCall(server, userAgent, request, { watch: true });
      const deadline = startDeadline(request.timeoutMs ?? timeoutMs, request.signal);
      try {
        const response = await send(
          call,
          deadline,
          (response) => expectStream(call.asked, response, maxBodyBytes),
        );
        return readStream(call.asked, response, deadline);
      } finally {
        deadline.stop();
      }
    },
    close: () => transport.close(),
  };
}

type Send = <T>(
  call: Call,
  deadline: Deadline,
  use: (response: TransportResponse) => Promise<T>,
) => Promise<T>;

/** While it waited for a place or for the server, the caller lost interest. */
function givenUp({ asked }: Call, cause: unknown): KubeError {
  return new KubeError("given up by the caller", { ...asked, reason: "Aborted", cause });
}

/** The wait that an overloaded server asks for. */
function wantedWait(error: unknown): number | undefined {
  if (!(error instanceof KubeError) || error.status === undefined) return undefined;
  return error.status === 429 || error.status >= 500 ? error.retryAfterMs : undefined;
}

/**
 * Requests to the API server.
 *
 * Guarantees: every request ends, with an object or with a KubeError, within its deadline; answers are bounded in size; after a
 * 401 the credentials are refreshed and the request is retried once; 429 and 5xx with Retry-After are retried at that time if it
 * is within the deadline, and occupy no place meanwhile; urgent requests do not queue behind others.
 * Caveats: nothing else is retried here: the caller knows whether its request is still the newest, and has a backoff. The deadline
 * does not cover the wait for a place: that is bounded by the deadlines of the requests before it and by the signal.
 */
import { sleep } from "../../lib/sleep.ts";
import { steadyNow } from "../../lib/time.ts";
import type { KubeAccess } from "../access/access.ts";
import { decodeAnswer, expectStream } from "./answer.ts";
import { type Call, type CallInput, prepareCall, type Query } from "./call.ts";
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
  /** Opens a watch or a log and yields its bytes as they arrive. Ends when the server ends it; throws a KubeError if it breaks. */
  stream(request: StreamRequest): Promise<AsyncIterable<Uint8Array>>;
  /** Closes idle connections now, the others when their requests are done. */
  close(): void;
}

export interface KubeRequest extends CallInput {
  timeoutMs?: number;
  signal?: AbortSignal;
  priority?: Priority;
}

export interface StreamRequest {
  path: string;
  query?: Query;
  /** The answer is bytes of any kind, as a log, instead of JSON. */
  plain?: boolean;
  /** Until the answer starts; the reader decides how long a stream may be silent. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface ClientOptions {
  userAgent?: string;
  timeoutMs?: number;
  connectTimeoutMs?: number;
  maxBodyBytes?: number;
  /** Requests at the same time, not counting watches, and how many of these `low` requests may not use. */
  maxInFlight?: number;
  reserved?: number;
  retries?: number;
  onRequest?: (report: RequestReport) => void;
  transport?: Transport;
}

/** If the server requests a longer wait, the request is not retried here; the error contains the wait. */
const maxRetryAfterMs = 30_000;

export function createKubeClient(access: KubeAccess, options: ClientOptions = {}): KubeClient {
  const { timeoutMs = 30_000, maxBodyBytes = 16 << 20, retries = 3 } = options;
  const { connectTimeoutMs, userAgent = "nckubelet", onRequest } = options;
  const { server } = access;
  const limiter = createLimiter(options);
  const transport = options.transport ?? createTransport(access, { connectTimeoutMs });
  const context = { access, transport, onRequest };

  /** A credential may have been replaced after it was read, so a 401 is retried once. */
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
          // For example, a Lease would expire before its renewal is retried.
          if (steadyNow() + waitMs > until) throw error;
          await sleep(waitMs, signal);
          if (signal?.aborted) throw givenUp(call, signal.reason);
        }
      }
    },
    async stream(request) {
      const { plain = false } = request;
      const call = prepareCall(server, userAgent, request, { watch: !plain });
      const deadline = startDeadline(request.timeoutMs ?? timeoutMs, request.signal);
      try {
        const response = await send(
          call,
          deadline,
          (response) => expectStream(call.asked, response, { plain, maxBytes: maxBodyBytes }),
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

/** The caller aborted while the request waited for a place or for the server. */
function givenUp({ asked }: Call, cause: unknown): KubeError {
  return new KubeError("given up by the caller", { ...asked, reason: "Aborted", cause });
}

/** Returns the wait that an overloaded server requests. */
function wantedWait(error: unknown): number | undefined {
  if (!(error instanceof KubeError) || error.status === undefined) return undefined;
  return error.status === 429 || error.status >= 500 ? error.retryAfterMs : undefined;
}

/** One request and its answer, with a deadline for both; every failure becomes a KubeError. */
import { orAborted } from "../../lib/sleep.ts";
import { steadyNow } from "../../lib/time.ts";
import type { KubeAccess } from "../access/access.ts";
import type { Asked } from "./answer.ts";
import type { Call } from "./call.ts";
import { KubeError } from "../kube-error.ts";
import type { Transport, TransportResponse } from "./transport.ts";
import { explainNetworkError } from "./network-error.ts";

export interface ExchangeContext {
  access: KubeAccess;
  transport: Transport;
  onRequest?: (report: RequestReport) => void;
}

export interface RequestReport {
  verb: string;
  resource: string;
  /** 0 if there was no answer. */
  code: number;
  durationMs: number;
}

/** The time limit of a request. Its signal aborts when the time is up, or when the caller's signal aborts. */
export interface Deadline {
  readonly ms: number;
  readonly signal: AbortSignal;
  /** Reports whether the time ran out, as opposed to an abort by the caller. */
  expired(): boolean;
  /** Stops the clock; the caller's signal still counts. */
  stop(): void;
}

/** Unlike `AbortSignal.timeout`, a deadline can be stopped: a watch outlives the deadline of its first byte. */
export function startDeadline(ms: number, outer?: AbortSignal): Deadline {
  const clock = new AbortController();
  const timer = setTimeout(() => clock.abort(), ms);
  const signal = AbortSignal.any([clock.signal, ...outer ? [outer] : []]);
  return {
    ms,
    signal,
    expired: () => signal.aborted && signal.reason === clock.signal.reason,
    stop: () => clearTimeout(timer),
  };
}

/** Sends a call with current credentials, and passes the answer to `use` under the same deadline. */
export async function exchange<T>(
  { access, transport, onRequest }: ExchangeContext,
  { asked, verb, resource, path, headers, body }: Call,
  deadline: Deadline,
  use: (response: TransportResponse) => Promise<T>,
): Promise<T> {
  const startedAt = steadyNow();
  let response: TransportResponse | undefined;
  try {
    const { tls, headers: authHeaders } = await orAborted(credentials(access, asked), deadline.signal);
    const { method } = asked;
    response = await transport.send({
      method,
      path,
      headers: { ...headers, ...authHeaders },
      body,
      tls,
      signal: deadline.signal,
    });
    return await use(response);
  } catch (error) {
    throw asKubeError(error, asked, deadline, response?.status);
  } finally {
    onRequest?.({ verb, resource, code: response?.status ?? 0, durationMs: steadyNow() - startedAt });
  }
}

export async function* readStream(asked: Asked, response: TransportResponse, deadline: Deadline) {
  try {
    yield* response.body;
  } catch (error) {
    throw asKubeError(error, asked, deadline, response.status);
  }
}

async function credentials(access: KubeAccess, asked: Asked) {
  try {
    return await access.credentials();
  } catch (cause) {
    throw new KubeError((cause as Error).message, { ...asked, reason: "Credentials", cause });
  }
}

function asKubeError(
  error: unknown,
  asked: Asked,
  deadline: Deadline,
  status: number | undefined,
): KubeError {
  if (error instanceof KubeError) return error;
  if (deadline.expired()) {
    const what = status === undefined ? "no answer" : "no complete answer";
    return new KubeError(`${what} within ${deadline.ms} ms`, { ...asked, status, reason: "Timeout" });
  }
  if (deadline.signal.aborted) {
    return new KubeError("given up by the caller", { ...asked, status, reason: "Aborted" });
  }
  const what = status === undefined ? "" : "the answer broke off: ";
  const cause = explainNetworkError(error);
  return new KubeError(what + describe(cause), { ...asked, status, reason: "Unreachable", cause });
}

/** If a host has several addresses, the error has no message of its own, but one error for each address. */
function describe(error: unknown): string {
  const { message, code, errors } = error as { message?: string; code?: string; errors?: Error[] };
  return message || errors?.map(({ message }) => message).join("; ") || code || String(error);
}

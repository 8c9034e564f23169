import type { Readable } from "node:stream";
import { errorCode } from "../../lib/files.ts";
import type { RequestOptions } from "../../lib/undici.ts";

export interface AgentRequest {
  method?: "GET" | "PUT" | "POST" | "DELETE";
  /** Sent as JSON. */
  body?: unknown;
  signal?: AbortSignal;
  /** Pauses in the body of the response have no limit. */
  stream?: boolean;
  /** For the head of the response, if that may take long. */
  timeoutMs?: number;
}

export interface AgentResponse {
  status: number;
  body: Readable;
}

/** For connecting, for the head of the response, and for each pause in its body. */
const usualTimeoutMs = 10_000;

/**
 * Sends a request and resolves with the head of the response; the connection closes after its body. A timeout has the code
 * ETIMEDOUT.
 */
export async function sendRequest(
  socketPath: string,
  path: string,
  { method = "GET", body: content, signal, stream = false, timeoutMs = usualTimeoutMs }: AgentRequest,
): Promise<AgentResponse> {
  // Loaded here: `version`, `validate` and help ask no agent.
  const { Agent, request } = await import("../../lib/undici.ts");
  const dispatcher = new Agent({
    connect: { socketPath, timeout: usualTimeoutMs },
    pipelining: 0,
    allowH2: false,
  });
  const options: RequestOptions = {
    origin: "http://localhost",
    path,
    method,
    signal,
    ...(content === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(content) }),
    headersTimeout: timeoutMs,
    bodyTimeout: stream ? 0 : usualTimeoutMs,
  };
  try {
    const { statusCode, body } = await request(dispatcher, options);
    return { status: statusCode, body };
  } catch (cause) {
    if (!errorCode(cause).includes("TIMEOUT")) throw cause;
    throw Object.assign(new Error(`no answer within ${timeoutMs / 1000} s`, { cause }), {
      code: "ETIMEDOUT",
    });
  }
}

/** Yields the body of a response until the signal aborts; `server` names it in the error for a lost connection. */
export async function* streamBody(
  opening: Promise<AgentResponse>,
  server: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const response = await opening.catch((error) => {
    if (!signal.aborted) throw error;
  });
  if (!response) return;
  try {
    yield* response.body;
  } catch (cause) {
    if (signal.aborted) return;
    throw new Error(`${server} closed the connection: ${errorCode(cause)}`, { cause });
  }
}

/** Turns an HTTP answer into an object, or into a KubeError that describes the answer. */
import { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import { KubeError } from "../kube-error.ts";
import type { TransportResponse } from "./transport.ts";
import { asStatus } from "../wire.ts";

/** The request, for its errors. */
export interface Asked {
  method: string;
  url: string;
}

/** Reads the whole body, up to `maxBytes`, and decodes it. */
export async function decodeAnswer(
  asked: Asked,
  response: TransportResponse,
  maxBytes: number,
): Promise<unknown> {
  const text = await readBody(asked, response, maxBytes);
  if (!isSuccess(response)) throw refusal(asked, response, text);
  if (!isJson(response)) throw notJson(asked, response, text);
  return parse(asked, response, text);
}

/** Checks that a watch is answered with a stream of JSON, or a log with any; otherwise reads the answer and throws. */
export async function expectStream(
  asked: Asked,
  response: TransportResponse,
  { plain, maxBytes }: { plain: boolean; maxBytes: number },
): Promise<TransportResponse> {
  if (isSuccess(response) && (plain || isJson(response))) return response;
  const text = await readBody(asked, response, maxBytes);
  throw isSuccess(response) ? notJson(asked, response, text) : refusal(asked, response, text);
}

async function readBody(
  asked: Asked,
  { status, body }: TransportResponse,
  maxBytes: number,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw new KubeError(`the answer is larger than ${maxBytes} bytes`, {
        ...asked,
        status,
        reason: "TooLarge",
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function refusal(asked: Asked, response: TransportResponse, text: string): KubeError {
  const status = asStatus(tryParse(text));
  const detail = status?.message ?? (text.trim() ? excerpt(text) : "no message");
  return new KubeError(detail, {
    ...asked,
    status: response.status,
    reason: status?.reason || reasonOf(response.status),
    retryAfterMs: retryAfter(header(response, "retry-after")),
  });
}

function notJson(asked: Asked, response: TransportResponse, text: string): KubeError {
  const type = header(response, "content-type") ?? "no content type";
  return new KubeError(`not JSON but ${type}: ${excerpt(text)}`, {
    ...asked,
    status: response.status,
    reason: "BadAnswer",
  });
}

function parse(asked: Asked, { status }: TransportResponse, text: string): unknown {
  try {
    const body = JSON.parse(text);
    if (typeof body === "object" && body !== null) return body;
  } catch (cause) {
    const what = text.trim() ? `cut or broken JSON of ${text.length} characters` : "an empty body";
    throw new KubeError(what, { ...asked, status, reason: "BadAnswer", cause });
  }
  throw new KubeError(`no object but ${excerpt(text)}`, { ...asked, status, reason: "BadAnswer" });
}

/** For answers without a Status, from proxies and from the API server's own router: 404 is `NotFound`. */
function reasonOf(status: number): string {
  // Kubernetes has a word of its own for this one.
  if (status === 500) return "InternalError";
  return STATUS_CODES[status]?.replaceAll(" ", "") ?? "HTTPError";
}

/** Parses seconds or a date. A wrong header must not silence the agent for years. */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, longestWaitMs);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - Date.now()), longestWaitMs);
}

const longestWaitMs = 3_600_000;

function isSuccess({ status }: TransportResponse): boolean {
  return status >= 200 && status < 300;
}

function isJson(response: TransportResponse): boolean {
  return /^application\/json\b/i.test(header(response, "content-type") ?? "");
}

function header({ headers }: TransportResponse, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the beginning of a text, on one line. */
function excerpt(text: string): string {
  const line = text.replace(/[\s\u0000-\u001f\u007f]+/g, " ").trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line || "nothing";
}

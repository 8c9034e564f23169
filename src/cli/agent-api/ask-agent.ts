/**
 * Asks the agent of this node through its unix socket.
 *
 * Every question ends: with an answer, with an AgentError that carries the agent's own words, or with an error that says why
 * there is no answer and what to do. Only a followed log may take as long as it likes.
 */
import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { errorCode } from "../../lib/files.ts";
import { systemSocket } from "../config/config.ts";

export interface Question {
  method?: "GET" | "PUT" | "POST" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
}

/** The agent refused, with an HTTP status. */
export class AgentError extends Error {
  override name = "AgentError";
  status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const timeoutMs = 10_000;

/** The JSON that the agent answers with, and the status of the answer. */
export async function askAgent<T>(
  socketPath: string,
  path: string,
  question: Question = {},
): Promise<{ status: number; body: T }> {
  const response = await send(socketPath, path, question);
  const text = await readAll(response);
  return { status: response.statusCode ?? 0, body: parse(socketPath, text) as T };
}

/** The bytes that the agent answers with, as they come. */
export async function* streamFromAgent(
  socketPath: string,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const response = await send(socketPath, path, { signal }).catch((error) => {
    if (!signal.aborted) throw error;
  });
  if (!response) return;
  response.socket.setTimeout(0);
  try {
    yield* response;
  } catch (error) {
    if (!signal.aborted) {
      throw new Error(`the agent at ${socketPath} broke off: ${errorCode(error)}`, { cause: error });
    }
  }
}

/** Sends the question; a refusal is thrown. */
async function send(
  socketPath: string,
  path: string,
  { method = "GET", body, signal }: Question,
): Promise<IncomingMessage> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = text === undefined
    ? {}
    : { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const call = request({ socketPath, path, method, headers, signal, timeout: timeoutMs }, resolve);
    call.on("timeout", () => call.destroy(new Error(`the agent at ${socketPath} does not answer`)));
    call.on("error", (cause) => reject(explain(socketPath, cause)));
    call.end(text);
  });
  const status = response.statusCode ?? 0;
  if (status < 400) return response;
  const answer = parse(socketPath, await readAll(response)) as { message?: string };
  throw new AgentError(status, answer.message ?? `the agent answered ${status} to ${method} ${path}`);
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function parse(socketPath: string, text: string): unknown {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch (cause) {
    throw new Error(
      `what serves ${socketPath} is no agent: it answers ${JSON.stringify(text.slice(0, 80))}`,
      {
        cause,
      },
    );
  }
}

/** Says what to do; where that is known, how the socket puts it is of no more use. */
function explain(socketPath: string, cause: Error): Error {
  const code = errorCode(cause);
  if (code === "EACCES") {
    return new Error(`the agent's socket ${socketPath} is not yours: try again as root (sudo)`);
  }
  if (code !== "ENOENT" && code !== "ECONNREFUSED") return cause;
  const others = socketPath !== systemSocket && existsSync(systemSocket);
  const next = others
    ? "the agent of this machine is root's: try again with sudo"
    : "start one with 'systemctl start nckubelet' or 'nckubelet agent' ('nckubelet agent --standalone' without a cluster), " +
      "or name its socket with --socket";
  return new Error(`no agent is running at ${socketPath}: ${next}`);
}

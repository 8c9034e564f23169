/**
 * Sends requests to the agent of this node through its unix socket.
 *
 * Every request ends: with a response, with an AgentError that carries the agent's message, or with an error that says why there
 * is no response and what to do. Only a followed log has no time limit.
 */
import { accessSync, constants } from "node:fs";
import { text as readText } from "node:stream/consumers";
import { errorCode } from "../../lib/files.ts";
import { systemSocket } from "../config/config.ts";
import { type AgentRequest, type AgentResponse, sendRequest, streamBody } from "./request.ts";

/** The agent refused, with an HTTP status. */
export class AgentError extends Error {
  override name = "AgentError";
  status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** There is no agent at the socket. */
export class NoAgentError extends Error {
  override name = "NoAgentError";
}

export async function askAgent<T>(
  socketPath: string,
  path: string,
  request: AgentRequest = {},
): Promise<T> {
  const { body } = await send(socketPath, path, request);
  return parse(socketPath, await readText(body)) as T;
}

/** Yields the body of the response until the signal aborts. */
export function streamFromAgent(
  socketPath: string,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  return streamBody(send(socketPath, path, { signal, stream: true }), `the agent at ${socketPath}`, signal);
}

/** Parses the lines of a stream as they come; a line that the signal cut off is left out. */
export async function* jsonLines(
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
  if (rest !== "" && !signal.aborted) yield JSON.parse(rest);
}

/** Sends a request; throws an AgentError if the agent refuses it. */
async function send(socketPath: string, path: string, request: AgentRequest): Promise<AgentResponse> {
  const response = await sendRequest(socketPath, path, request).catch((cause) => {
    throw explain(socketPath, cause);
  });
  if (response.status < 400) return response;
  const answer = parse(socketPath, await readText(response.body)) as { message?: string };
  throw new AgentError(
    response.status,
    answer.message ?? `the agent answered ${response.status} to ${request.method ?? "GET"} ${path}`,
  );
}

function parse(socketPath: string, text: string): unknown {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch (cause) {
    const start = JSON.stringify(text.slice(0, 80));
    throw new Error(`the server at ${socketPath} is not an agent: it answered ${start}`, { cause });
  }
}

/** Turns an error of the socket into one that says what to do. */
function explain(socketPath: string, cause: Error): Error {
  const code = errorCode(cause);
  if (code === "ETIMEDOUT") return new Error(`the agent at ${socketPath} does not answer`, { cause });
  if (code === "EACCES") {
    return new Error(`you may not use the agent's socket ${socketPath}: try again as root (sudo)`);
  }
  if (code !== "ENOENT" && code !== "ECONNREFUSED") return cause;
  return new NoAgentError(`no agent is running at ${socketPath}: ${noAgentHint(socketPath)}`);
}

/** Says where to look for the agent, or how to start one. */
export function noAgentHint(socketPath: string, accessTo: (path: string) => Access = accessToSocket): string {
  const systemAgent = socketPath === systemSocket ? "none" : accessTo(systemSocket);
  if (systemAgent === "denied") return "the agent of this machine runs as root: try again with sudo";
  if (systemAgent === "allowed") {
    return `the agent of this machine uses ${systemSocket}: name it with --socket`;
  }
  return "start one with 'systemctl start nckubelet' or 'nckubelet agent' ('nckubelet agent --standalone' without a cluster), " +
    "or name its socket with --socket";
}

type Access = "none" | "denied" | "allowed";

function accessToSocket(path: string): Access {
  try {
    accessSync(path, constants.W_OK);
    return "allowed";
  } catch (error) {
    return errorCode(error) === "EACCES" ? "denied" : "none";
  }
}

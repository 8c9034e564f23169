/**
 * The remotecommand protocol inside of SPDY, v4 and v5: one stream each for input, outputs, the terminal's size, and the result.
 * With SPDY the two versions are the same; v5 adds a way to close the input to WebSockets, which SPDY has as FIN.
 */
import { finished } from "node:stream/promises";
import type { Duplex, Writable } from "node:stream";
import { isObject } from "../../lib/objects.ts";
import type { TerminalSize } from "../../supervisor/run/run.ts";
import { SpdySession, type SpdyStream } from "../spdy/spdy.ts";
import type { KubeletServices } from "./services.ts";

export const remoteCommandProtocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

export type StreamType = "error" | "stdin" | "stdout" | "stderr" | "resize";

export interface RemoteStreams {
  session: SpdySession;
  streams: Partial<Record<StreamType, SpdyStream>> & { error: SpdyStream };
}

/**
 * How every result begins. Clients take an empty result for success, also if it is empty because the agent was killed: kubectl exec and
 * cp would exit with 0. Half a result is an error, which quotes this.
 */
export const beginning = '{"note":"the agent of the node ended before the command",';

/** How long a client may take to open its streams, as the kubelet allows. */
const creationMs = 30_000;
const maxResizeBytes = 1024;
const maxSize = 65_535;

/** Waits for the client's streams; undefined if it leaves, or does not open all of them in time. */
export async function openRemoteStreams(
  socket: Duplex,
  types: readonly StreamType[],
  { streamLimits, limits: { paces } }: Pick<KubeletServices, "streamLimits" | "limits">,
  holder: string,
): Promise<RemoteStreams | undefined> {
  const streams: Partial<Record<StreamType, SpdyStream>> = {};
  const typeOf = (name: string | undefined) => types.find((type) => type === name && !streams[type]);
  const opened = Promise.withResolvers<void>();
  const session = new SpdySession(socket, {
    limits: { streams: types.length, ...streamLimits },
    paces: paces(holder),
    accept(headers) {
      const type = typeOf(headers.get("streamtype"));
      return type && ((stream) => {
        streams[type] = stream;
        if (types.every((each) => streams[each])) opened.resolve();
      });
    },
  });
  const timer = setTimeout(() => session.destroy(), creationMs);
  await Promise.race([opened.promise, session.closed]);
  clearTimeout(timer);
  const { error } = streams;
  if (!error || !types.every((type) => streams[type])) return undefined;
  // Nothing is expected on these; what a client sends there must not fill the connection.
  for (const type of ["error", "stdout", "stderr"] as const) streams[type]?.resume();
  error.write(beginning);
  return { session, streams: { ...streams, error } };
}

/** Ends the outputs, then tells the result, then says goodbye. */
export async function sendResult({ session, streams }: RemoteStreams, status: object): Promise<void> {
  const { error, stdout, stderr } = streams;
  stdout?.end();
  stderr?.end();
  error.end(JSON.stringify(status).slice(1));
  await Promise.all([error, stdout, stderr].map((stream) => stream && sent(stream)));
  await session.end();
}

/** The result of a command as `Status`; kubectl exits with the code. */
export function exitStatus(code: number): object {
  if (code === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: `${code}` }] },
  };
}

/** The result of a command that could not be run. */
export function failureStatus(message: string): object {
  return { metadata: {}, status: "Failure", message, reason: "InternalError", code: 500 };
}

/** Calls back with each size that the client sends; anything else is ignored. */
export function followSizes(stream: SpdyStream, resize: (size: TerminalSize) => void): void {
  let rest = "";
  stream.on("data", (chunk: Uint8Array) => {
    const lines = (rest + new TextDecoder().decode(chunk)).split("\n");
    rest = (lines.pop() ?? "").slice(0, maxResizeBytes);
    for (const line of lines) {
      const size = parseSize(line);
      if (size) resize(size);
    }
  });
}

/** Reads `{"Width":80,"Height":24}`. */
export function parseSize(line: string): TerminalSize | undefined {
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { Width: columns, Height: rows } = isObject(found) ? found : {};
  const isSize = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) > 0 && (value as number) <= maxSize;
  return isSize(columns) && isSize(rows) ? { columns, rows } : undefined;
}

/** Resolves when all is sent, or when nobody is there to get it. */
async function sent(stream: Writable): Promise<void> {
  await finished(stream, { readable: false }).catch(() => {});
}

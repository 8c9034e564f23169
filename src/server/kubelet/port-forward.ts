/**
 * `/portForward`: connections to ports of this node, for `kubectl port-forward`. Each is a pair of streams with one request id: one for
 * the data, one for what goes wrong.
 *
 * Apps have no network of their own, so the ports are the node's on loopback, as those of a Pod in the host's network are.
 *
 * Guarantees: a stream that is reset leaves its pair at once, and a pair without its second stream goes after 30 s; until then both
 * count against the connection's streams. Every stream reserves its memory (stream-memory.ts), and is refused if there is none.
 * Nothing is read from a port or a client before the other side takes it. All ends with the Pod, and with the rights of the sender.
 */
import { Buffer } from "node:buffer";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { keyOf, splitAppKey } from "../../api/names.ts";
import { errorCode } from "../../lib/files.ts";
import { type Headers, type Limits, type Pace, SpdySession, type SpdyStream } from "../spdy/spdy.ts";
import { type KubeletContext, requireApp, requireEntry, whyNoPort } from "./context.ts";
import { endOfStream } from "./lifetime.ts";
import type { KubeletServices } from "./services.ts";
import { reserved } from "./stream-memory.ts";
import { acceptStreams } from "./upgrade.ts";

export const portForwardProtocols = ["portforward.k8s.io"];

/** How long a client may take to open the second stream of a pair. */
const pairMs = 30_000;
const connectMs = 10_000;
/** What is read from a port, or written to it, at once. */
const pieceBytes = 16_384;

/** The streams of one connection that are open. */
interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  timer: NodeJS.Timeout;
}

export interface PortForwardOptions {
  limits?: Partial<Limits>;
  paces?: readonly Pace[];
  /** Why the client may not connect to a port; undefined if it may. */
  whyNot?: (port: number) => Promise<string | undefined>;
  /** Reserves memory for a stream; undefined if there is none. */
  reserve?(): (() => void) | undefined;
  /** Aborts when everything has to end, with the reason. `signal` aborts when the connection is over. */
  endOf?(signal: AbortSignal): AbortSignal;
  /** How long a port may take to read the rest, once the client has left. */
  closeMs?: number;
}

export async function portForward(context: KubeletContext, services: KubeletServices): Promise<Response> {
  const app = requireApp(context, services);
  await requireEntry(context, app, services);
  const { streamLimits, limits: { paces, memory } } = services;
  const { namespace, name } = splitAppKey(keyOf(app.app));
  return acceptStreams(
    context,
    portForwardProtocols,
    services,
    { app, bytes: 0 },
    (socket, holder) =>
      servePortForward(socket, {
        limits: streamLimits,
        paces: paces(holder),
        whyNot: (port) => whyNoPort(context, services.view.app(namespace, name), port, services),
        reserve: () => memory(holder, reserved.forwardStream),
        endOf: (signal) => endOfStream(context, services, app, signal),
      }),
  );
}

export async function servePortForward(
  socket: Duplex,
  { limits, paces, whyNot = async () => undefined, reserve = () => () => {}, endOf, closeMs = connectMs }:
    PortForwardOptions = {},
): Promise<void> {
  const pairs = new Map<string, Pair>();
  const errors = new Set<SpdyStream>();
  const add = (stream: SpdyStream, { type, port, id }: PortHeaders) => {
    const key = `${id} ${port}`;
    const pair = pairs.get(key) ?? { timer: setTimeout(() => drop(key), pairMs) };
    pairs.set(key, pair);
    if (pair[type]) return stream.destroy();
    pair[type] = stream;
    // A pair of which one stream was reset never becomes a connection.
    stream.once("close", () => pairs.get(key) === pair && drop(key));
    const { data, error } = pair;
    if (!data || !error) return;
    clearTimeout(pair.timer);
    pairs.delete(key);
    errors.add(error);
    error.once("close", () => errors.delete(error));
    void start(port, data, error);
  };
  const start = async (port: number, data: SpdyStream, error: SpdyStream) => {
    const why = await whyNot(port);
    if (why !== undefined || data.destroyed) return refuse(why ?? "", data, error);
    forward(port, data, error, closeMs);
  };
  const drop = (key: string) => {
    const pair = pairs.get(key);
    pairs.delete(key);
    clearTimeout(pair?.timer);
    pair?.data?.destroy();
    pair?.error?.destroy();
  };
  const session = new SpdySession(socket, {
    limits,
    paces,
    accept(headers) {
      const found = parsePortHeaders(headers);
      const release = found && reserve();
      return release && ((stream) => {
        stream.once("close", release);
        add(stream, found);
      });
    },
  });
  const gone = new AbortController();
  const until = endOf?.(gone.signal);
  const end = () => {
    for (const error of errors) if (error.writable) error.end((until!.reason as Error).message);
    void session.end();
  };
  if (until?.aborted) end();
  until?.addEventListener("abort", end, { once: true });
  await session.closed;
  gone.abort();
  for (const key of [...pairs.keys()]) drop(key);
}

interface PortHeaders {
  type: "data" | "error";
  port: number;
  id: string;
}

/** Reads the headers of a stream; undefined if one is missing or wrong. */
export function parsePortHeaders(headers: Headers): PortHeaders | undefined {
  const [type, port, id] = [headers.get("streamtype"), headers.get("port") ?? "", headers.get("requestid")];
  if ((type !== "data" && type !== "error") || id === undefined || !/^\d{1,20}$/.test(id)) return undefined;
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { type, port: Number(port), id };
}

/** Ends a pair of streams that is connected with nothing. */
function refuse(why: string, data: SpdyStream, error: SpdyStream): void {
  error.resume();
  error.end(why);
  data.resume();
  data.end();
}

/** Connects a pair of streams with a port of this node. */
function forward(port: number, data: SpdyStream, error: SpdyStream, closeMs: number): void {
  error.resume();
  const buffer = Buffer.allocUnsafeSlow(pieceBytes);
  // Nothing is read ahead of the client.
  const callback = (length: number) =>
    data.writable && data.write(new Uint8Array(buffer.subarray(0, length)));
  const options = { port, host: "localhost", autoSelectFamily: true, allowHalfOpen: true };
  const target = connect(
    { ...options, highWaterMark: pieceBytes, onread: { buffer, callback } } as NetConnectOpts,
  );
  target.setTimeout(connectMs, () => target.destroy(new Error(`no answer in ${connectMs / 1000} s`)));
  target.once("connect", () => {
    target.setTimeout(0);
    data.pipe(target);
    target.resume();
  });
  data.on("drain", () => target.resume());
  target.once("end", () => data.end());
  target.once("error", (cause) => {
    if (!error.destroyed) error.write(`cannot connect to port ${port} of this node: ${reasonOf(cause)}`);
  });
  target.once("close", () => {
    error.end();
    // What the port has sent goes out first; after an error there is nobody to read the rest of the client's bytes.
    data.end();
    data.resume();
  });
  data.once("close", () => closeSoon(target, closeMs));
}

/** Sends the rest, but does not wait for a port that reads none of it. */
function closeSoon(target: Socket, closeMs: number): void {
  if (target.destroyed) return;
  target.destroySoon();
  const timer = setTimeout(() => target.destroy(), closeMs);
  target.once("close", () => clearTimeout(timer));
}

function reasonOf(error: Error): string {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return (first as NodeJS.ErrnoException).code ? errorCode(first) : error.message;
}

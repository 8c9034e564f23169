/**
 * `/portForward`: connections to ports of this node, for `kubectl port-forward`. Each is a pair of streams with one request id: one for
 * the data, one for what goes wrong.
 *
 * Apps have no network of their own, so the ports are the node's on loopback, as those of a Pod in the host's network are.
 */
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { keyOf, splitAppKey } from "../../api/names.ts";
import { errorCode } from "../../lib/files.ts";
import { type Headers, type Limits, SpdySession, type SpdyStream } from "../spdy/spdy.ts";
import { type KubeletContext, requireApp, requireEntry, whyNoPort } from "./context.ts";
import type { KubeletServices } from "./services.ts";
import { acceptStreams } from "./upgrade.ts";

export const portForwardProtocols = ["portforward.k8s.io"];

/** How long a client may take to open the second stream of a pair. */
const pairMs = 30_000;
const connectMs = 10_000;

interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  timer: NodeJS.Timeout;
}

export async function portForward(context: KubeletContext, services: KubeletServices): Promise<Response> {
  const found = requireApp(context, services);
  await requireEntry(found, services);
  const { namespace, name } = splitAppKey(keyOf(found.app));
  const whyNot = (port: number) => whyNoPort(services.view.app(namespace, name), port);
  const options = { limits: services.streamLimits, whyNot };
  return acceptStreams(
    context,
    portForwardProtocols,
    services,
    (socket) => servePortForward(socket, options),
  );
}

export async function servePortForward(
  socket: Duplex,
  { limits, whyNot = () => undefined, closeMs = connectMs }: {
    limits?: Partial<Limits>;
    /** Why the client may not connect to a port; undefined if it may. */
    whyNot?: (port: number) => string | undefined;
    /** How long a port may take to read the rest, once the client has left. */
    closeMs?: number;
  } = {},
): Promise<void> {
  const pairs = new Map<string, Pair>();
  const onStream = (stream: SpdyStream) => {
    const { type, port, id } = parsePortHeaders(stream.headers)!;
    const key = `${id} ${port}`;
    const pair = pairs.get(key) ?? { timer: setTimeout(() => drop(key), pairMs) };
    pairs.set(key, pair);
    if (pair[type]) return stream.destroy();
    pair[type] = stream;
    if (!pair.data || !pair.error) return;
    clearTimeout(pair.timer);
    pairs.delete(key);
    const why = whyNot(port);
    if (why === undefined) forward(port, pair.data, pair.error, closeMs);
    else refuse(why, pair.data, pair.error);
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
    admits: (headers) => parsePortHeaders(headers) !== undefined,
    onStream,
  });
  await session.closed;
  for (const key of [...pairs.keys()]) drop(key);
}

/** Reads the headers of a stream; undefined if one is missing or wrong. */
export function parsePortHeaders(
  headers: Headers,
): { type: "data" | "error"; port: number; id: string } | undefined {
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
  const target = connect({ port, host: "localhost", autoSelectFamily: true, allowHalfOpen: true });
  target.setTimeout(connectMs, () => target.destroy(new Error(`no answer in ${connectMs / 1000} s`)));
  target.once("connect", () => {
    target.setTimeout(0);
    data.pipe(target);
    target.pipe(data);
  });
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

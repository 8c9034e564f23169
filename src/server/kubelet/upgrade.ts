/** HTTP's `Upgrade: SPDY/3.1`: the request is answered like any other, until a handler accepts it; then frames follow. */
import { Buffer } from "node:buffer";
import type { Hono } from "hono";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { describeError, type Logger } from "../../lib/log.ts";
import { waitAtMost } from "../../lib/sleep.ts";
import { malformed, Refusal, refusalStatus } from "../refusal.ts";
import { type Accepted, type KubeletContext, type KubeletEnv, takePlace } from "./context.ts";
import type { KubeletServices } from "./services.ts";

const spdy = "SPDY/3.1";
const protocolHeader = "x-stream-protocol-version";
const keepAliveMs = 30_000;
/** Longer than commands have until they are killed. */
const closeMs = 4000;

/** Accepts a request for streams with the first of the client's protocols that is known. */
export function acceptStreams(
  context: KubeletContext,
  protocols: readonly string[],
  { places: { sessions } }: KubeletServices,
  serve: (socket: Duplex, protocol: string) => Promise<void>,
): Response {
  const { env, req } = context;
  if (!env.upgrade) {
    throw new Refusal(400, `${req.path} needs the headers Connection: Upgrade and Upgrade: ${spdy}`);
  }
  const wanted = (req.header(protocolHeader) ?? "").split(",").map((name) => name.trim()).filter(Boolean);
  const protocol = wanted.find((name) => protocols.includes(name));
  if (protocol === undefined) {
    const known = protocols.join(", ");
    throw new Refusal(
      403,
      `the client speaks ${wanted.join(", ").slice(0, 200) || "no protocol"}, the agent ${known}`,
    );
  }
  env.upgrade({ protocol, serve: (socket) => serve(socket, protocol), leave: takePlace(sessions) });
  return context.body(null, 200);
}

/** Reports whether a request asks for what this API upgrades to. */
export function asksForSpdy({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers.upgrade?.toUpperCase() === spdy;
}

/** The connections that a server has handed over, which it does not know any more. */
export interface Upgrades {
  /** For a server's `upgrade` events. */
  onUpgrade(request: IncomingMessage, socket: Socket, head: Uint8Array): Promise<void>;
  /** Ends all of them, and what they run; resolves when they are over, or after a few seconds. */
  close(): Promise<void>;
}

export function createUpgrades(app: Hono<KubeletEnv>, log: Logger): Upgrades {
  const open = new Map<Socket, Promise<void>>();
  const serve = async (request: IncomingMessage, socket: Socket, head: Uint8Array): Promise<void> => {
    // A client that leaves while the API server is asked; without a listener its error would end the agent.
    socket.on("error", () => {});
    let accepted: Accepted | undefined;
    try {
      const upgrade = asksForSpdy(request) ? (taken: Accepted) => void (accepted = taken) : undefined;
      const asked = requestOf(request);
      const response = asked ? await app.fetch(asked, { incoming: request, upgrade }) : malformed();
      if (socket.destroyed) return;
      if (!accepted) return await sendAndClose(socket, response);
      socket.setTimeout(0);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, keepAliveMs);
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${spdy}\r\n` +
          `X-Stream-Protocol-Version: ${accepted.protocol}\r\n\r\n`,
      );
      if (head.length > 0) socket.unshift(Buffer.from(head));
      await accepted.serve(socket);
    } catch (error) {
      // Without the query, which has the command.
      log.error("a stream failed", { path: request.url?.split("?")[0], why: describeError(error) });
      socket.destroy();
    } finally {
      accepted?.leave();
    }
  };
  return {
    async onUpgrade(request, socket, head) {
      const served = serve(request, socket, head);
      open.set(socket, served);
      await served;
      open.delete(socket);
    },
    async close() {
      for (const socket of open.keys()) socket.destroy();
      await waitAtMost(closeMs, Promise.all(open.values()));
    },
  };
}

/** Undefined for a path that is no URL, and for methods that a Request refuses. */
function requestOf({ method, url = "/", rawHeaders }: IncomingMessage): Request | undefined {
  try {
    const headers = new Headers();
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
    }
    return new Request(new URL(url, "https://node"), { method, headers });
  } catch {
    return undefined;
  }
}

async function sendAndClose(socket: Socket, response: Response): Promise<void> {
  const isError = response.status >= 400;
  const text = isError
    ? await response.text()
    : JSON.stringify(refusalStatus(new Refusal(400, `only ${spdy} is upgraded to, and only for streams`)));
  await response.body?.cancel().catch(() => {});
  const head = [
    `HTTP/1.1 ${isError ? response.status : 400} Refused`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
    ...["www-authenticate", "retry-after", "allow"].flatMap((name) => {
      const value = isError && response.headers.get(name);
      return value ? [`${name}: ${value}`] : [];
    }),
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`, () => socket.destroySoon());
}

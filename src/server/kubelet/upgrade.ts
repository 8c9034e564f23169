/** HTTP's `Upgrade: SPDY/3.1`: a handler that accepts it takes the connection over; then frames follow. */
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Duplex } from "node:stream";
import { describeError } from "../../lib/log.ts";
import { waitAtMost } from "../../lib/sleep.ts";
import { Refusal } from "../refusal.ts";
import type { AppView } from "../view.ts";
import { holderOf, type KubeletContext, reserve } from "./context.ts";
import type { KubeletServices } from "./services.ts";
import { reserved } from "./stream-memory.ts";

const spdy = "SPDY/3.1";
const protocolHeader = "X-Stream-Protocol-Version";
/** Longer than commands have until they are killed. */
const closeMs = 4000;

/** What a request for streams is for: the app, and the bytes that its streams reserve besides those of the connection. */
export interface StreamUse {
  app: AppView;
  bytes: number;
}

/** Accepts a request for streams with the first of the client's protocols that is known. `serve` gets the holder of their memory. */
export function acceptStreams(
  context: KubeletContext,
  protocols: readonly string[],
  { limits, streams, log }: KubeletServices,
  use: StreamUse,
  serve: (socket: Duplex, holder: string) => Promise<void>,
): Response {
  const { env, req } = context;
  if (!env?.takeOver || req.header("upgrade")?.toUpperCase() !== spdy) {
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
  const holder = holderOf(context, use.app);
  const leave = reserve(limits, holder, reserved.session + use.bytes);
  const socket = env.takeOver({ "Upgrade": spdy, [protocolHeader]: protocol });
  if (!socket) {
    leave();
    return RESPONSE_ALREADY_SENT;
  }
  const served = serve(socket, holder).catch((error) => {
    // Without the query, which has the command.
    log.error("a stream failed", { path: req.path, why: describeError(error) });
    socket.destroy();
  }).finally(() => {
    leave();
    streams.delete(served);
  });
  streams.add(served);
  return RESPONSE_ALREADY_SENT;
}

/** Resolves when all streams are over, with what they run, or after a few seconds. */
export async function waitForStreams({ streams }: Pick<KubeletServices, "streams">): Promise<void> {
  await waitAtMost(closeMs, Promise.all(streams));
}

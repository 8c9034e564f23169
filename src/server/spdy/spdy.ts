/**
 * The server's side of SPDY/3.1, as far as kubectl and the API server use it for exec, attach and port-forward.
 *
 * frames.ts and header-block.ts turn bytes into frames and back; session.ts is one connection; a stream (stream.ts) is a Duplex with
 * the headers that it was opened with.
 *
 * Guarantees:
 * - Every buffer is bounded: open streams, the headers of a stream, received bytes that wait for a reader, and sent bytes that wait
 *   for the client. A frame that breaks a limit ends its connection; a stream too many is refused.
 * - Frames are handled one after the other, and all connections together keep the event loop for 2 ms at most (turns.ts). A client that
 *   causes more work than its budget, or that of its holder or of all clients, is read and written more slowly (pace.ts).
 * - A frame that the protocol does not allow now ends the connection: for a stream that never was open, headers for one that is not open
 *   any more, a stream with an id that does not rise, or of a wrong size.
 * - Flow control works in both directions. The client's windows are honored from the first frame that mentions them, and
 *   WINDOW_UPDATE follows what readers take. A client that ignores windows, as Kubernetes' own does, is slowed down by TCP.
 *   Streams that wait for the connection take turns.
 * - Each side closes its half of a stream on its own (FIN). RST_STREAM ends one stream, the end of the connection all of them.
 * - Pings are answered. A connection on which no data moves for four hours ends, and so does one whose client has vanished: also
 *   while it is not read, since it is pinged then.
 *
 * Caveats:
 * - A client without windows that fills one stream, which nobody reads, delays its other streams: with TCP there is one pace for all.
 *   Go's kubelet behaves the same.
 * - After a reset, a client that still sends headers for that stream is treated as broken; Kubernetes' own sends none.
 * - Priorities, associated streams and server push are ignored. Header names arrive in lower case.
 */
export type { Headers } from "./header-block.ts";
export { createPaces, type Pace } from "./pace.ts";
export { defaultLimits, type Limits, type SessionOptions, SpdySession } from "./session.ts";
export { SpdyError } from "./spdy-error.ts";
export { SpdyStream } from "./stream.ts";

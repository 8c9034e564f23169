/** The peer broke the protocol: the connection ends, since its next frame cannot be trusted. */
export class SpdyError extends Error {
  override name = "SpdyError";

  constructor(message: string, options?: ErrorOptions) {
    super(`SPDY: ${message}`, options);
  }
}

import { Buffer } from "node:buffer";

/** Decodes the bytes of a case as files and bodies are decoded: invalid UTF-8 becomes U+FFFD. */
export function textOf(input: Uint8Array): string {
  return Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString("utf8");
}

/** Returns the parsed JSON of a case, or undefined if it is not JSON. */
export function jsonOf(input: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(input));
  } catch {
    return undefined;
  }
}

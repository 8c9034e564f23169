import { Buffer } from "node:buffer";

/** The text of a case, as files and bodies are decoded: what is no UTF-8 becomes U+FFFD. */
export function textOf(input: Uint8Array): string {
  return Buffer.from(input.buffer, input.byteOffset, input.byteLength).toString("utf8");
}

/** The parsed JSON of a case; undefined where it is none. */
export function jsonOf(input: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(input));
  } catch {
    return undefined;
  }
}

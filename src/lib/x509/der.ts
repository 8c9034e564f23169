/**
 * The pieces of DER (X.690) that certificates and requests for them need: a writer, and a reader of what others wrote.
 *
 * Guarantees: the reader accepts one encoding of a value only, the shortest, and nothing after it; so what it has read, no other
 * reader reads differently. Whatever the bytes are, it ends with a value or with an error.
 */
import { Buffer } from "node:buffer";

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  bytes: 0x04,
  oid: 0x06,
  text: 0x0c,
  printable: 0x13,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Object identifiers, as the hex digits of their content. */
export const oids = {
  ecdsaWithSHA256: "2a8648ce3d040302",
  commonName: "550403",
  organization: "55040a",
  extensionRequest: "2a864886f70d01090e",
  basicConstraints: "551d13",
  keyUsage: "551d0f",
  extendedKeyUsage: "551d25",
  subjectAltName: "551d11",
  serverAuth: "2b06010505070301",
} as const;

/** At most 65,535 bytes. */
export function tagged(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const size = length < 0x80
    ? [length]
    : length < 0x100
    ? [0x81, length]
    : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

export function sequence(...parts: Uint8Array[]): Buffer {
  return tagged(tags.sequence, Buffer.concat(parts));
}

export function oid(hex: string): Buffer {
  return tagged(tags.oid, Buffer.from(hex, "hex"));
}

export function bits(bytes: Uint8Array): Buffer {
  return tagged(tags.bits, Buffer.concat([Buffer.from([0]), bytes]));
}

/** One part of a name, such as `CN=web`. */
export function nameAttribute(id: string, value: string): Buffer {
  return tagged(tags.set, sequence(oid(id), tagged(tags.text, Buffer.from(value))));
}

export function extension(id: string, value: Uint8Array, isCritical = false): Buffer {
  const critical = isCritical ? [tagged(tags.boolean, Buffer.from([0xff]))] : [];
  return sequence(oid(id), ...critical, tagged(tags.bytes, value));
}

export function toPEM(label: string, der: Uint8Array): string {
  const lines = Buffer.from(der).toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

export interface Element {
  tag: number;
  content: Buffer;
  /** Tag, length and content. */
  whole: Buffer;
}

/** Reads one element that fills the bytes. `what` names it in errors. */
export function readOne(bytes: Buffer, tag: number, what: string): Buffer {
  const [element, ...others] = readAll(bytes, what);
  if (!element || others.length > 0) throw new Error(`${what}: one element is expected`);
  return expectTag(element, tag, what);
}

/** Returns the content of an element with this tag. */
export function expectTag(element: Element | undefined, tag: number, what: string): Buffer {
  if (element?.tag !== tag) throw new Error(`${what}: not what is expected there`);
  return element.content;
}

/** Reads elements until the end of the bytes. */
export function readAll(bytes: Buffer, what: string): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const { length, start } = readLength(bytes, at + 1, what);
    const end = start + length;
    if (end > bytes.length) throw new Error(`${what}: it ends too early`);
    found.push({ tag: bytes[at]!, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return found;
}

function readLength(bytes: Buffer, at: number, what: string): { length: number; start: number } {
  const first = bytes[at] ?? NaN;
  if (first < 0x80) return { length: first, start: at + 1 };
  const count = first - 0x80;
  const length = count === 1 ? bytes[at + 1]! : count === 2 ? bytes[at + 1]! << 8 | bytes[at + 2]! : NaN;
  const isShortest = count === 1 ? length >= 0x80 : length >= 0x100;
  if (!isShortest) throw new Error(`${what}: its length is not encoded as DER wants it`);
  return { length, start: at + 1 + count };
}

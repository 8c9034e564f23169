/** Host ports with their protocol, as keys that cost no text. */
import type { Port } from "../api/types.ts";

const protocols = ["TCP", "UDP", "SCTP"];

/** A port and its protocol as one number: a key that costs no text. */
export function portNumber({ port, protocol = "TCP" }: Port): number {
  return port * 4 + protocols.indexOf(protocol);
}

/** The other way: `8080/TCP`. */
export function formatPort(number: number): string {
  return `${number >> 2}/${protocols[number & 3]}`;
}

import { createHash, timingSafeEqual } from "node:crypto";

export function digest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

/** Reports whether a token is one of those with these digests. It compares all of them, so that timing reveals nothing. */
export function isOneOf(token: string, digests: Uint8Array[]): boolean {
  const given = digest(token);
  return digests.filter((known) => timingSafeEqual(known, given)).length > 0;
}

/** When a credential expires, in milliseconds since 1970; undefined if it does not say. Pure. */
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";

/** The first of several certificates counts that expires. */
export function certificateExpiry(pem: string): number | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const times = blocks.flatMap((block) => {
    try {
      return [Date.parse(new X509Certificate(block).validTo)];
    } catch {
      return [];
    }
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Of a JSON Web Token. */
export function tokenExpiry(token: string): number | undefined {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return typeof exp === "number" ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

/** Signs requests for certificates as a cluster's signer does, for tests. */
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { generateKeyPairSync, sign } from "node:crypto";
import type { Pair } from "../../../src/node/identity/keep-certificate.ts";
import { bits, nameAttribute, oid, oids, sequence, tagged, tags, toPEM } from "../../../src/lib/x509/x509.ts";
import { createAuthority } from "../../harness/certificates.ts";

/** Returns a function that signs the request of a CertificateSigningRequest; its result is the `certificate` of its status. */
export async function createSigner(folder: string): Promise<(request: string) => string> {
  const { certFile, keyFile } = await createAuthority(folder, "signer");
  return (request) => {
    const input = Buffer.from(request, "base64");
    const args = ["x509", "-req", "-days", "1", "-CA", certFile, "-CAkey", keyFile, "-CAcreateserial"];
    const options = { input, cwd: folder, stdio: ["pipe", "pipe", "pipe"] as ["pipe", "pipe", "pipe"] };
    return execFileSync("openssl", [...args, "-CAserial", join(folder, "serial")], options).toString(
      "base64",
    );
  };
}

/** A certificate that is valid from a minute before `from`, for 365 days. openssl makes none with dates of the past. */
export function certificateFrom(from: number): Pair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const time = (ms: number) =>
    tagged(0x17, Buffer.from(new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "").slice(2)));
  const algorithm = sequence(oid(oids.ecdsaWithSHA256));
  const name = sequence(nameAttribute(oids.commonName, "nckubelet:a"));
  const content = sequence(
    tagged(tags.integer, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(from - 60_000), time(from + 365 * 86_400_000)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const der = sequence(content, algorithm, bits(sign("sha256", content, privateKey)));
  return {
    cert: toPEM("CERTIFICATE", der),
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

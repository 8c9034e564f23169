/**
 * A self-signed serving certificate, as kubelets have until the cluster signs one. API servers without
 * `--kubelet-certificate-authority` accept it: the connection is encrypted, and the client authenticates itself, but not the node.
 *
 * Guarantees: the key never leaves the node; its file has mode 0600. The certificate is made again a month before it expires, and when
 * the node's names change; a pair that cannot be read is replaced.
 */
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { join } from "node:path";
import { readIfExists, writeFileAtomic } from "../../lib/files.ts";
import {
  alternativeNames,
  bits,
  extension,
  nameAttribute,
  oid,
  oids,
  sequence,
  tagged,
  toPEM,
} from "../../lib/x509/x509.ts";
import type { KeyPair } from "./bounded-server.ts";

export interface SelfSignedOptions {
  /** Where the pair is kept. */
  folder: string;
  node: string;
  /** The names and addresses of the node. */
  names: string[];
  now?: () => number;
}

const dayMs = 86_400_000;
const validDays = 365;
const renewDays = 30;

/** Returns the pair in the folder, or a new one. */
export async function readSelfSigned(
  { folder, node, names, now = Date.now }: SelfSignedOptions,
): Promise<KeyPair> {
  const [certFile, keyFile] = [join(folder, "kubelet.crt"), join(folder, "kubelet.key")];
  const found = { cert: await readIfExists(certFile) ?? "", key: await readIfExists(keyFile) ?? "" };
  if (isUsable(found, names, now())) return found;
  const pair = createSelfSigned(node, names, now());
  await writeFileAtomic(keyFile, pair.key, { mode: 0o600 });
  await writeFileAtomic(certFile, pair.cert, { mode: 0o644 });
  return pair;
}

/** Returns a function that keeps a pair in memory: the same until it is about to expire. */
export function keepSelfSigned(node: string, names: string[], now = Date.now): () => Promise<KeyPair> {
  let pair: KeyPair | undefined;
  return async () =>
    pair = pair && isUsable(pair, names, now()) ? pair : createSelfSigned(node, names, now());
}

/** Makes a key and its certificate. */
export function createSelfSigned(node: string, names: string[], now: number): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = encodeCertificate(`nckubelet:${node}`.slice(0, 64), names, { publicKey, privateKey }, now);
  return {
    cert: toPEM("CERTIFICATE", der),
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

function isUsable({ cert, key }: KeyPair, names: string[], now: number): boolean {
  try {
    const certificate = new X509Certificate(cert);
    const covers = (name: string) =>
      (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined;
    const isInTime = Date.parse(certificate.validFrom) <= now &&
      now < Date.parse(certificate.validTo) - renewDays * dayMs;
    return isInTime && names.every(covers) && certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function encodeCertificate(
  name: string,
  names: string[],
  { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject },
  now: number,
): Buffer {
  const algorithm = sequence(oid(oids.ecdsaWithSHA256));
  const subject = sequence(nameAttribute(oids.commonName, name));
  // A minute ago, for clocks that differ a little. The serial number is positive.
  const validity = sequence(time(now - 60_000), time(now + validDays * dayMs));
  const serial = tagged(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(15)]));
  const extensions = sequence(
    extension(oids.basicConstraints, sequence(), true),
    // digitalSignature
    extension(oids.keyUsage, tagged(0x03, Buffer.from([7, 0x80])), true),
    extension(oids.extendedKeyUsage, sequence(oid(oids.serverAuth))),
    extension(oids.subjectAltName, alternativeNames(names)),
  );
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    serial,
    algorithm,
    subject,
    validity,
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, extensions),
  );
  return sequence(content, algorithm, bits(sign("sha256", content, privateKey)));
}

/** UTCTime until 2049, then GeneralizedTime, as RFC 5280 wants it. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}

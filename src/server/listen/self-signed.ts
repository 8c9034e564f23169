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
import { addressBytes } from "../../lib/special-addresses.ts";
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

/** Makes a key and its certificate. */
export function createSelfSigned(node: string, names: string[], now: number): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = encodeCertificate(`nckubelet:${node}`.slice(0, 64), names, { publicKey, privateKey }, now);
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
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

// The few pieces of DER that one certificate needs (X.690, RFC 5280).

const oids = {
  ecdsaWithSHA256: "2a8648ce3d040302",
  commonName: "550403",
  basicConstraints: "551d13",
  keyUsage: "551d0f",
  extendedKeyUsage: "551d25",
  subjectAltName: "551d11",
  serverAuth: "2b06010505070301",
};

function encodeCertificate(
  name: string,
  names: string[],
  { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject },
  now: number,
): Buffer {
  const algorithm = sequence(oid(oids.ecdsaWithSHA256));
  const subject = sequence(tagged(0x31, sequence(oid(oids.commonName), tagged(0x0c, Buffer.from(name)))));
  // A minute ago, for clocks that differ a little. The serial number is positive.
  const validity = sequence(time(now - 60_000), time(now + validDays * dayMs));
  const serial = tagged(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(15)]));
  const alternatives = names.map((each) =>
    isIP(each) ? tagged(0x87, addressBytes(each)) : tagged(0x82, Buffer.from(each))
  );
  const extensions = sequence(
    extension(oids.basicConstraints, sequence(), true),
    // digitalSignature
    extension(oids.keyUsage, tagged(0x03, Buffer.from([7, 0x80])), true),
    extension(oids.extendedKeyUsage, sequence(oid(oids.serverAuth)), false),
    extension(oids.subjectAltName, sequence(...alternatives), false),
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

function tagged(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const size = length < 0x80
    ? [length]
    : length < 0x100
    ? [0x81, length]
    : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Uint8Array[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"));
}

function bits(bytes: Uint8Array): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), bytes]));
}

function extension(id: string, value: Uint8Array, isCritical: boolean): Buffer {
  const critical = isCritical ? [tagged(0x01, Buffer.from([0xff]))] : [];
  return sequence(oid(id), ...critical, tagged(0x04, value));
}

/** UTCTime until 2049, then GeneralizedTime, as RFC 5280 wants it. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}

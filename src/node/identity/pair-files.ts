/** The files of a key and its certificate. The key is made once, and stays when the certificate is renewed. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import { keyDigest } from "../../lib/x509/x509.ts";
import { readIfExists, writeFileAtomic } from "../../lib/files.ts";
import type { Logger } from "../../lib/log.ts";
import type { Pair } from "./keep-certificate.ts";

export interface PairFiles {
  keyFile: string;
  certFile: string;
}

/** Returns the pair if it belongs together and to this user; undefined for anything else. */
export async function readPair({ keyFile, certFile }: PairFiles, user: string): Promise<Pair | undefined> {
  const pair = { cert: await readIfExists(certFile) ?? "", key: await readIfExists(keyFile) ?? "" };
  return isFor(user, pair) ? pair : undefined;
}

/** A key that is lost costs the name of the node, so it is on the disk before anyone hears of it. */
export async function readOrMakeKey(path: string, log: Logger): Promise<KeyObject> {
  const text = await readIfExists(path);
  try {
    if (text) return createPrivateKey(text);
  } catch (error) {
    log.warn("a key of this node is damaged; making another one", { path, error });
  }
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFileAtomic(path, pemOf(privateKey));
  return privateKey;
}

export function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}

function isFor(user: string, { cert, key }: Pair): boolean {
  try {
    const certificate = new X509Certificate(cert);
    const isOfKey = keyDigest(certificate.publicKey) === keyDigest(createPublicKey(createPrivateKey(key)));
    return isOfKey && certificate.subject.split("\n").includes(`CN=${user}`);
  } catch {
    return false;
  }
}

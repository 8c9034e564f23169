/** A server's certificate and key, from files that may be replaced at any time: a certificate with its own key, or an error that names the file. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { errorCode } from "../../lib/files.ts";
import type { KeyPair } from "./bounded-server.ts";

export interface KeyPairFiles {
  certFile: string;
  keyFile: string;
}

export async function readKeyPair({ certFile, keyFile }: KeyPairFiles): Promise<KeyPair> {
  const cert = await read("--tls-cert-file", certFile);
  const key = await read("--tls-private-key-file", keyFile);
  const certificate = parse("--tls-cert-file", certFile, () => new X509Certificate(cert));
  const privateKey = parse("--tls-private-key-file", keyFile, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`--tls-private-key-file ${keyFile}: not the key of the certificate in ${certFile}`);
  }
  return { cert, key };
}

async function read(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new Error(`${flag} ${path}: ${errorCode(cause)}`, { cause });
  }
}

function parse<T>(flag: string, path: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new Error(`${flag} ${path}: not valid PEM: ${(cause as Error).message}`, { cause });
  }
}

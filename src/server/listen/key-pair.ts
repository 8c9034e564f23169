/**
 * A server's certificate and key, from files that may be replaced at any time.
 *
 * Guarantees: the result is a certificate with its own key, or an error that names the file. A replacement that cannot be used, such
 * as a half-written one, leaves the old pair in use.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import { errorCode } from "../../lib/files.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import type { KeyPair } from "./bounded-server.ts";

export interface KeyPairFiles {
  certFile: string;
  keyFile: string;
}

const rereadMs = 10_000;

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

/** Gives the server every new pair, until the returned function is called. */
export function followKeyPair(
  server: Server,
  files: KeyPairFiles,
  first: KeyPair,
  log: Logger,
  { periodMs = rereadMs }: { periodMs?: number } = {},
): () => void {
  let current = first;
  const timer = setInterval(async () => {
    try {
      const pair = await readKeyPair(files);
      if (pair.cert === current.cert && pair.key === current.key) return;
      (server as unknown as { setSecureContext(pair: KeyPair): void }).setSecureContext(pair);
      current = pair;
      log.info("using a new certificate", { file: files.certFile });
    } catch (error) {
      log.warn("keeping the old certificate", { why: describeError(error) });
    }
  }, periodMs);
  timer.unref();
  return () => clearInterval(timer);
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

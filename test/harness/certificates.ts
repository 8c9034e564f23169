/**
 * Creates certificates for a test control plane with openssl: an authority, and certificates signed by it.
 * They are valid for a day; keys are P-256, which are fast to generate.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const openssl = (args: string[]) => promisify(execFile)("openssl", args);

/** The two files of a certificate. */
export type Certificate = { certFile: string; keyFile: string };

/** Makes a certificate authority. */
export function createAuthority(dir: string, name: string): Promise<Certificate> {
  return create(dir, name, `/CN=${name}`, [
    "-addext",
    "basicConstraints=critical,CA:TRUE",
    "-addext",
    "keyUsage=critical,keyCertSign",
  ]);
}

/** Makes a server's certificate for the names (`DNS:localhost`, `IP:127.0.0.1`). */
export function createServerCertificate(dir: string, name: string, authority: Certificate, names: string[]) {
  const extensions = [`subjectAltName=${names.join(",")}`, "extendedKeyUsage=serverAuth"];
  return create(dir, name, `/CN=${name}`, signedBy(authority, extensions));
}

/** Makes a client's certificate; Kubernetes reads the user from CN and the groups from O. */
export function createClientCertificate(
  dir: string,
  file: string,
  authority: Certificate,
  user: string,
  groups: string[],
): Promise<Certificate> {
  const subject = [...groups.map((group) => `/O=${group}`), `/CN=${user}`].join("");
  return create(dir, file, subject, signedBy(authority, ["extendedKeyUsage=clientAuth"]));
}

/** Makes a key pair as one PEM file, in the form ("EC PRIVATE KEY") that API servers take for both halves. */
export async function createKey(dir: string, name: string): Promise<string> {
  const file = join(dir, `${name}.key`);
  await openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file]);
  return file;
}

async function create(dir: string, file: string, subject: string, more: string[]): Promise<Certificate> {
  const certificate = { certFile: join(dir, `${file}.crt`), keyFile: await createKey(dir, file) };
  const { certFile, keyFile } = certificate;
  // openssl's own configuration would mark every certificate as an authority.
  await openssl([
    "req",
    "-x509",
    "-config",
    "/dev/null",
    "-days",
    "1",
    "-subj",
    subject,
    "-key",
    keyFile,
    "-out",
    certFile,
    ...more,
  ]);
  return certificate;
}

function signedBy(authority: Certificate, extensions: string[]): string[] {
  const signer = ["-CA", authority.certFile, "-CAkey", authority.keyFile];
  return [...signer, ...["basicConstraints=CA:FALSE", ...extensions].flatMap((text) => ["-addext", text])];
}

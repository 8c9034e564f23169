/** The identity of a kubeconfig's user: the credentials that are sent to the server. */
import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { changingFile } from "./changing-file.ts";
import { type ExecCredentialSource, execCredentialSource, type ExecOptions } from "./exec-credential.ts";
import type { KubeconfigUser, Material } from "./kubeconfig.ts";

export interface Identity {
  /** The kind of credential, without the credential. */
  readonly kind: string;
  headers(): Promise<Record<string, string>>;
  certificate(): Promise<Certificate | undefined>;
  /** Reads files and runs plugins again, after a 401. */
  refresh(): void;
}

export interface Certificate {
  cert: string;
  key: string;
}

/** A token file overrides a token, a token overrides basic auth, and all of them override a plugin, as in kubectl. */
export function identityOf(user: KubeconfigUser, execOptions: ExecOptions): Identity {
  const certificate = user.certificate && fileCertificate(user.certificate.cert, user.certificate.key);
  const header = user.tokenFile ? tokenFileHeader(user.tokenFile) : staticHeader(user);
  const plugin = !header && user.exec
    ? execIdentity(execCredentialSource(user.exec, execOptions), user.exec.command)
    : undefined;
  const parts = [certificate, header, plugin].filter((part) => part !== undefined);
  return {
    kind: parts.map((part) => part.kind).join(" and ") || "anonymous",
    async headers() {
      return Object.assign({}, ...await Promise.all(parts.map((part) => part.headers())));
    },
    async certificate() {
      return await certificate?.certificate() ?? await plugin?.certificate();
    },
    refresh() {
      for (const part of parts) part.refresh();
    },
  };
}

function staticHeader({ token, username, password }: KubeconfigUser): Identity | undefined {
  if (token) return fixed("token", `Bearer ${token.trim()}`);
  if (username === undefined) return undefined;
  return fixed("basic auth", `Basic ${Buffer.from(`${username}:${password ?? ""}`).toString("base64")}`);
}

function fixed(kind: string, authorization: string): Identity {
  return { kind, headers: async () => ({ authorization }), certificate: async () => undefined, refresh() {} };
}

function tokenFileHeader(path: string): Identity {
  const file = changingFile(path, "token file");
  return {
    kind: `token file ${path}`,
    headers: async () => ({ authorization: `Bearer ${(await file.read()).trim()}` }),
    certificate: async () => undefined,
    refresh: () => file.forget(),
  };
}

function execIdentity(source: ExecCredentialSource, command: string): Identity {
  return {
    kind: `exec plugin ${command}`,
    async headers() {
      const { token } = await source.get();
      const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
      return headers;
    },
    certificate: async () => (await source.get()).certificate,
    refresh: () => source.forget(),
  };
}

/** While certificate and key are being replaced one after the other they do not match; until they do, the last pair is used. */
function fileCertificate(cert: Material, key: Material): Identity {
  const readCert = reader(cert, "client certificate");
  const readKey = reader(key, "client key");
  let last: Certificate | undefined;
  return {
    kind: "client certificate",
    headers: async () => ({}),
    async certificate() {
      const pair = { cert: await readCert.read(), key: await readKey.read() };
      if (last?.cert === pair.cert && last.key === pair.key) return last;
      const problem = pairProblem(pair);
      if (!problem) last = pair;
      else if (!last) throw new Error(`client certificate ${readCert.path}: ${problem}`);
      return last;
    },
    refresh() {
      readCert.forget();
      readKey.forget();
    },
  };
}

export function reader(
  material: Material,
  what: string,
): { path: string; read(): Promise<string>; forget(): void } {
  if ("file" in material) return changingFile(material.file, what);
  return { path: "(inline)", read: async () => material.pem, forget() {} };
}

function pairProblem({ cert, key }: Certificate): string | undefined {
  try {
    const fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
    return fits ? undefined : "its key belongs to another certificate";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Uses client-node to read certificates, keys and the remaining credentials of a chosen context. */
import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { accessSync, constants } from "node:fs";
import type { RequestOptions } from "node:https";
import type { Cluster, User } from "@kubernetes/client-node";
import type { AuthMethod } from "./auth-method.ts";
import type { ExecCredential } from "./exec-credential.ts";
import type { ChosenContext } from "./kubeconfig-files.ts";
import type { Proof } from "./resolution.ts";

/** `credential` is what was fetched already. */
export async function applyConfig(
  { cluster: clusterEntry, user: userEntry, config }: ChosenContext,
  method: AuthMethod,
  credential: ExecCredential,
): Promise<Pick<Proof, "headers" | "tls" | "expiresAt">> {
  const cluster = usedCluster(config.getCurrentCluster()!);
  const user = usedUser(config.getCurrentUser(), method, credential);
  const files = { "certificate authority": cluster.caFile, "client certificate": user.certFile };
  for (const [what, path] of Object.entries({ ...files, "client key": user.keyFile })) checkFile(what, path);
  config.loadFromClusterAndUser(cluster, user);
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
  } catch (error) {
    // A provider's command that prints something else than JSON: the message of the parser quotes it.
    const why = error instanceof SyntaxError ? "its command printed no JSON" : (error as Error).message;
    throw new Error(`${userEntry.at}: ${method.is}: ${why}`);
  }
  const { ca, cert, key, auth } = options;
  const authorization = (options.headers as { Authorization?: string } | undefined)?.Authorization ??
    (auth && `Basic ${Buffer.from(auth).toString("base64")}`);
  const pair = cert && key
    ? {
      cert: pem(cert, `${userEntry.at}: client-certificate`, user.certFile),
      key: pem(key, `${userEntry.at}: client-key`, user.keyFile),
    }
    : credential.certificate;
  if (pair) checkPair(pair, user.certFile ?? (cert ? "(inline)" : method.is));
  return {
    headers: authorization ? { authorization } : {},
    tls: {
      ca: ca ? pem(ca, `${clusterEntry.at}: certificate-authority`, cluster.caFile) : undefined,
      ...pair,
      servername: cluster.tlsServerName,
      rejectUnauthorized: !cluster.skipTLSVerify,
    },
    expiresAt: credential.expiresAt ?? providerExpiry(user),
  };
}

/** The client of the API server connects, not client-node: its rules for proxies and http:// do not apply. */
function usedCluster(cluster: Cluster): Cluster {
  return {
    ...cluster,
    server: "https://unused",
    proxyUrl: undefined,
    // client-node prefers the file, kubectl the data.
    caFile: cluster.caData ? undefined : cluster.caFile,
  };
}

function usedUser(user: User | null, method: AuthMethod, credential: ExecCredential): User {
  return {
    name: user?.name ?? "",
    certData: user?.certData,
    certFile: user?.certData ? undefined : user?.certFile,
    keyData: user?.keyData,
    keyFile: user?.keyData ? undefined : user?.keyFile,
    token: method.is === "token" ? user?.token?.trim() : credential.token,
    ...(method.is === "basic auth" && { username: user?.username, password: user?.password ?? "" }),
    ...(method.is === "auth-provider" && { authProvider: user?.authProvider }),
  };
}

/** client-node's error would not tell what the file is for. */
function checkFile(what: string, path: string | null | undefined): void {
  if (!path) return;
  try {
    accessSync(path, constants.R_OK);
  } catch (cause) {
    throw new Error(`cannot read ${what} ${path}: ${(cause as Error).message}`, { cause });
  }
}

function pem(value: unknown, what: string, file: string | null | undefined): string {
  const text = String(value);
  if (text.includes("-----BEGIN ")) return text;
  throw new Error(file ? `${what} ${file} is not a PEM file` : `${what}-data is not base64 of a PEM text`);
}

/** While certificate and key are being replaced one after the other they do not match. */
function checkPair({ cert, key }: { cert: string; key: string }, where: string): void {
  let problem;
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return;
    problem = "its key belongs to another certificate";
  } catch (error) {
    problem = (error as Error).message;
  }
  throw new Error(`client certificate ${where}: ${problem}`);
}

/** client-node updates the settings of the gcp and azure providers when it runs their commands. */
function providerExpiry({ authProvider }: User): number | undefined {
  const { expiry, "expires-on": expiresOn } = authProvider?.config ?? {};
  const at = expiry ? Date.parse(String(expiry)) : Number(expiresOn) * 1000;
  return Number.isNaN(at) ? undefined : at;
}

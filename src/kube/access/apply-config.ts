/** Uses client-node to read certificates, keys and the remaining credentials of a chosen context. */
import { KubeConfig, type User } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { accessSync, constants } from "node:fs";
import type { RequestOptions } from "node:https";
import { pick } from "../../lib/objects.ts";
import type { AuthMethod } from "./auth-method.ts";
import type { ExecCredential } from "./exec-credential.ts";
import type { ChosenContext, Fields, KubeconfigEntry } from "./kubeconfig-files.ts";
import type { Credentials } from "./resolution.ts";

/** `credential` is what was fetched already. */
export async function applyConfig(
  { cluster, user }: ChosenContext,
  method: AuthMethod,
  { token, certificate, expiresAt }: ExecCredential,
): Promise<Pick<Credentials, "headers" | "tls" | "expiresAt">> {
  const [caFile, certFile, keyFile] = [
    cluster.fields["certificate-authority"],
    user.fields["client-certificate"],
    user.fields["client-key"],
  ] as (string | undefined)[];
  checkFile("certificate authority", caFile);
  checkFile("client certificate", certFile);
  checkFile("client key", keyFile);
  if (method.is === "token file") checkFile(method.is, method.name);
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify({
    "current-context": "used",
    contexts: [{ name: "used", context: { cluster: "used", user: "used" } }],
    clusters: [{ name: "used", cluster: usedCluster(cluster) }],
    users: [{ name: "used", user: usedUser(user, method, token) }],
  }));
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
  } catch (error) {
    // A provider's command that prints something else than JSON: the message of the parser quotes it.
    const why = error instanceof SyntaxError ? "its command printed no JSON" : (error as Error).message;
    throw new Error(`${user.at}: ${method.is}: ${why}`);
  }
  const { ca, cert, key, auth } = options;
  const sent = (options.headers as { Authorization?: string } | undefined)?.Authorization ??
    (auth && `Basic ${Buffer.from(auth).toString("base64")}`);
  // A token of a file comes with its line breaks.
  const authorization = sent?.replace(/^Bearer\s+/, "Bearer ").trim();
  if (method.is === "token file" && (!authorization || authorization === "Bearer")) {
    throw new Error(`cannot read token file ${method.name}: it is empty`);
  }
  const pair = cert && key
    ? {
      cert: pem(cert, `${user.at}: client-certificate`, certFile),
      key: pem(key, `${user.at}: client-key`, keyFile),
    }
    : certificate;
  if (pair) checkPair(pair, certFile ?? (cert ? "(inline)" : method.is));
  return {
    headers: authorization ? { authorization } : {},
    tls: {
      ca: ca ? pem(ca, `${cluster.at}: certificate-authority`, caFile) : undefined,
      ...pair,
      servername: cluster.fields["tls-server-name"] as string | undefined,
      rejectUnauthorized: cluster.fields["insecure-skip-tls-verify"] !== true,
    },
    expiresAt: expiresAt ?? providerExpiry(config.getCurrentUser()!),
  };
}

/** The client of the API server connects, not client-node, which would refuse http:// without the flag. */
function usedCluster({ fields }: KubeconfigEntry): Fields {
  const used = pick(fields, ["server", "certificate-authority", "certificate-authority-data"]);
  return { ...used, "insecure-skip-tls-verify": true };
}

function usedUser({ fields }: KubeconfigEntry, method: AuthMethod, token: string | undefined): Fields {
  const names = ["client-certificate", "client-certificate-data", "client-key", "client-key-data"];
  return { ...pick(fields, names), ...("fields" in method ? method.fields : { token }) };
}

/** client-node's error would not tell what the file is for. */
function checkFile(what: string, path: string | undefined): void {
  if (!path) return;
  try {
    accessSync(path, constants.R_OK);
  } catch (cause) {
    throw new Error(`cannot read ${what} ${path}: ${(cause as Error).message}`, { cause });
  }
}

function pem(value: unknown, what: string, file: string | undefined): string {
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

/**
 * The id token of an `auth-provider: {name: oidc}`, refreshed before it expires.
 *
 * Guarantees: no error contains a token or the client-secret. A new refresh token is saved in the kubeconfig, as kubectl does: an
 * issuer that accepts each only once would reject the old one.
 * Caveat: whoever saves the kubeconfig at the same moment may overwrite the new tokens.
 * client-node 2.0.1 cannot refresh: it passes the issuer to openid-client as a string, which that rejects. It would also send no
 * client-secret, and authenticate as nobody where the id token is missing or has expired. So openid-client is called here.
 */
import { Buffer } from "node:buffer";
import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { dump, load } from "js-yaml";
import {
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type CustomFetch,
  customFetch,
  discovery,
  None,
  refreshTokenGrant,
} from "openid-client";
import { tokenExpiry } from "./expiry.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import { describeError } from "../../lib/log.ts";
import type { RequestOptions } from "../../lib/undici.ts";
import { type Fields, isFields, type KubeconfigEntry, listOf, textField } from "./kubeconfig-files.ts";
import { type Environment, proxyFromEnvironment } from "./proxy.ts";

export interface OidcProvider {
  issuer: string;
  clientId: string;
  clientSecret?: string;
  idToken?: string;
  refreshToken?: string;
  caFile?: string;
  caData?: string;
}

export interface OidcToken {
  idToken: string;
  expiresAt?: number;
  /** Absent if nothing was refreshed; many issuers keep the refresh token. */
  refreshed?: { "refresh-token"?: string };
}

/** A token that ends sooner than this is refreshed: requests take time, and clocks differ. */
const earlyMs = 70_000;
const timeoutSeconds = 30;

/** Reads the `auth-provider` of a user. */
export function readOidcProvider(provider: unknown, { path, at: userAt }: KubeconfigEntry): OidcProvider {
  const config = isFields(provider) && isFields(provider.config) ? provider.config : {};
  const at = `${userAt}: auth-provider.config`;
  const text = (name: string) => textField(config, name, at);
  const issuer = text("idp-issuer-url") ?? "";
  if (!URL.canParse(issuer)) {
    throw new Error(`${at}: idp-issuer-url must be the https:// address of the issuer`);
  }
  const caFile = text("idp-certificate-authority");
  return {
    issuer,
    clientId: text("client-id") ?? "",
    clientSecret: text("client-secret"),
    idToken: text("id-token"),
    refreshToken: text("refresh-token"),
    caFile: caFile && resolve(dirname(path), caFile),
    caData: text("idp-certificate-authority-data"),
  };
}

/** Returns the id token, or a new one if it ends soon or was rejected. */
export async function currentIdToken(
  provider: OidcProvider,
  { rejected, env }: { rejected: boolean; env: Environment },
): Promise<OidcToken> {
  const { issuer, clientId, idToken, refreshToken } = provider;
  const expiresAt = idToken && tokenExpiry(idToken);
  if (idToken && !rejected && !(expiresAt && expiresAt - Date.now() < earlyMs)) {
    return { idToken, expiresAt: expiresAt || undefined };
  }
  if (!refreshToken || !clientId) {
    // It may still be accepted: the server's clock decides.
    if (idToken && expiresAt && expiresAt > Date.now()) return { idToken, expiresAt };
    const what = idToken ? "the id-token has expired or was rejected" : "there is no id-token";
    throw new Error(
      `OIDC issuer ${issuer}: ${what}, and there is no ${
        clientId ? "refresh-token" : "client-id"
      }: log in again`,
    );
  }
  try {
    const answer = await refresh(provider, refreshToken, env);
    if (!answer.id_token) throw new Error("its answer has no id_token");
    const refreshed = answer.refresh_token ? { "refresh-token": answer.refresh_token } : {};
    return { idToken: answer.id_token, expiresAt: tokenExpiry(answer.id_token), refreshed };
  } catch (error) {
    // Not passed on as the cause: errors of openid-client contain the answer.
    throw new Error(`OIDC issuer ${issuer}: cannot refresh the id token: ${refusalOf(error)}`);
  }
}

/** Writes new tokens into the kubeconfig. Like kubectl, it loses comments. */
export async function saveTokens(
  path: string,
  userName: string,
  tokens: { "id-token": string; "refresh-token"?: string },
): Promise<void> {
  const fields = load(await readFile(path, "utf8")) as Fields;
  const user = listOf(fields.users).find(({ name }) => name === userName)?.user as Fields | undefined;
  const config = (user?.["auth-provider"] as { config?: Fields } | undefined)?.config;
  if (!config) throw new Error(`${path} has changed meanwhile`);
  Object.assign(config, tokens);
  await writeFileAtomic(path, dump(fields), { mode: (await stat(path)).mode & 0o777 });
}

async function refresh(provider: OidcProvider, refreshToken: string, env: Environment) {
  const { issuer, clientId, clientSecret, caFile, caData } = provider;
  const ca = caData
    ? Buffer.from(caData, "base64").toString("utf8")
    : caFile && await readFile(caFile, "utf8");
  const authenticate: ClientAuth = (server, ...rest) => {
    if (!clientSecret) return None()(server, ...rest);
    const post = server.token_endpoint_auth_methods_supported?.includes("client_secret_post");
    return (post ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret))(server, ...rest);
  };
  const config = await discovery(new URL(issuer), clientId, clientSecret, authenticate, {
    [customFetch]: fetchWith(ca || undefined, env),
    timeout: timeoutSeconds,
  });
  return await refreshTokenGrant(config, refreshToken);
}

/** Sends requests like the client of the API server does: with this authority, through the proxy of the environment. */
function fetchWith(ca: string | undefined, env: Environment): CustomFetch {
  return async (address, { method, headers, body, signal }) => {
    // Loaded for a refresh only: other kubeconfigs are read faster without it.
    const { Agent, loadProxyAgent, request } = await import("../../lib/undici.ts");
    const url = new URL(address);
    const proxy = proxyFromEnvironment(url, env);
    const tls = ca ? { ca } : {};
    const agent = proxy
      ? new (await loadProxyAgent())({ uri: proxy.href, requestTls: tls })
      : new Agent({ connect: tls, allowH2: false });
    try {
      const path = url.pathname + url.search;
      const text = body instanceof URLSearchParams ? body.toString() : body;
      const options = { origin: url.origin, path, method, headers, body: text, signal };
      const answer = await request(agent, options as unknown as RequestOptions);
      const type = String(answer.headers["content-type"] ?? "");
      return new Response(await answer.body.text(), {
        status: answer.statusCode,
        headers: { "content-type": type },
      });
    } finally {
      await agent.close();
    }
  };
}

/** What the issuer or the connection reports, without the rest of the answer. */
function refusalOf(error: unknown): string {
  const { error: code, error_description: description, status } = error as {
    error?: string;
    error_description?: string;
    status?: number;
  };
  if (code) return `${code}${description ? `: ${description}` : ""}`.slice(0, 500);
  if (status) return `status ${status}`;
  return describeError(error);
}

/** A small OIDC issuer on loopback, with TLS: discovery and refresh, nothing else. */
import type { ServerResponse } from "node:http";
import { json, type SeenRequest, withServer } from "../fake-server.ts";
import { jwt } from "./kubeconfigs.ts";

export interface Issuer {
  url: string;
  /** The forms of all refreshes, with the Authorization header. */
  refreshes: Record<string, string>[];
  /** An id token that ends this many seconds from now. */
  idToken(seconds: number): string;
}

export interface IssuerOptions {
  /** Each refresh token works once and is replaced. */
  rotates?: boolean;
  secret?: string;
  authMethods?: string[];
  lifetime?: number;
}

export async function withIssuer(
  { rotates = false, secret, authMethods, lifetime = 3600 }: IssuerOptions,
  use: (issuer: Issuer) => Promise<void>,
): Promise<void> {
  const refreshes: Issuer["refreshes"] = [];
  let [valid, url] = ["refresh-0", ""];
  const idToken = (seconds: number) => {
    const now = Math.floor(Date.now() / 1000);
    return jwt({ iss: url, aud: "edge", sub: "jane", iat: now, exp: now + seconds, n: refreshes.length });
  };
  const answer = ({ path, body, headers }: SeenRequest, response: ServerResponse) => {
    if (path === "/.well-known/openid-configuration") {
      const methods = authMethods && { token_endpoint_auth_methods_supported: authMethods };
      return json(response, { issuer: url, token_endpoint: `${url}/token`, ...methods });
    }
    const form = Object.fromEntries(new URLSearchParams(body));
    const authorization = headers.authorization ?? "";
    refreshes.push({ ...form, authorization });
    const basic = `Basic ${btoa(`edge:${secret}`)}`;
    if (secret && form.client_secret !== secret && authorization !== basic) {
      return json(response, { error: "invalid_client" }, 401);
    }
    if (form.refresh_token !== valid) {
      return json(response, { error: "invalid_grant", error_description: "used before" }, 400);
    }
    if (rotates) valid = `refresh-${refreshes.length}`;
    json(response, {
      access_token: "access",
      token_type: "Bearer",
      id_token: idToken(lifetime),
      ...(rotates && { refresh_token: valid }),
    });
  };
  await withServer(answer, async (server) => {
    url = server.url;
    await use({ url, refreshes, idToken });
  }, { tls: true });
}

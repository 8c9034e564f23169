/**
 * The authority whose client certificates count: of a file, else that of the cluster's API servers, which they publish in a
 * ConfigMap. The requestheader authority there is for proxies, and does not count.
 *
 * Guarantees: a replaced authority counts within minutes. One that cannot be read or parsed leaves the old one in use; before the
 * first, no client certificate counts.
 */
import { X509Certificate } from "node:crypto";
import { changingFile } from "../../kube/access/access.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { configMaps, resourcePath } from "../../kube/resources.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import { steadyNow } from "../../lib/time.ts";

export interface ClientAuthorityOptions {
  file?: string;
  client: KubeClient;
  log: Logger;
  now?: () => number;
}

const publishedMs = 180_000;
/** Roles may be installed any minute. */
const missingMs = 30_000;
const name = { namespace: "kube-system", name: "extension-apiserver-authentication" };

/** Returns a function that returns the authority as PEM, to be called again and again. */
export function createClientAuthority(
  { file, client, log, now = steadyNow }: ClientAuthorityOptions,
): () => Promise<string | undefined> {
  const given = file === undefined ? undefined : changingFile(file, "--client-ca-file");
  let current: string | undefined;
  let logged = "";
  let askAt = -Infinity;
  const find = async () => {
    if (given) return await given.read();
    const { data } = await client.request<{ data?: Record<string, string> }>({
      path: resourcePath(configMaps, name),
      timeoutMs: 10_000,
      priority: "low",
    });
    return data?.["client-ca-file"];
  };
  return async () => {
    if (!given && now() < askAt) return current;
    try {
      const found = await find();
      if (!found) throw new Error(`${name.namespace}/${name.name} has no client-ca-file`);
      checkCertificates(found);
      current = found;
      logged = "";
    } catch (error) {
      const why = describeError(error);
      if (why !== logged) {
        log.warn(
          "no authority for client certificates; kubectl logs and exec need it: set --client-ca-file",
          { why },
        );
      }
      logged = why;
    }
    askAt = now() + (current === undefined ? missingMs : publishedMs);
    return current;
  };
}

/** Throws unless every certificate of a PEM file can be parsed, and there is one. */
export function checkCertificates(pem: string): void {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new Error("the client authority has no certificate in PEM");
  for (const certificate of found) new X509Certificate(certificate);
}

/**
 * The names and addresses of the API server, which no node may have in a certificate: from the Service and the Endpoints `kubernetes`,
 * and from the certificate that the server shows, which also has those of a load balancer before it.
 */
import { isIP } from "node:net";
import { connect } from "node:tls";
import type { KubeAccess } from "../kube/access/access.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { objectsOf } from "../kube/guarded-write.ts";
import { endpoints, services } from "../kube/resources.ts";
import type { KubeObject } from "../kube/wire.ts";
import { canonicalAddress } from "../lib/x509/x509.ts";

type Service = KubeObject & { spec?: { clusterIPs?: string[]; clusterIP?: string } };
type Endpoints = KubeObject & { subsets?: { addresses?: { ip: string }[] }[] };

/** Throws if the server does not answer: a decision without these names would be wrong. */
export async function readServerNames(client: KubeClient, signal: AbortSignal): Promise<string[]> {
  const ref = { namespace: "default", name: "kubernetes" };
  const [service, endpoint, shown] = await Promise.all([
    objectsOf<Service>(client, services, { signal }).read(ref),
    objectsOf<Endpoints>(client, endpoints, { signal }).read(ref),
    shownNames(client.access),
  ]);
  return [
    hostOf(client.access.server),
    ...service?.spec?.clusterIPs ?? [service?.spec?.clusterIP ?? ""],
    ...(endpoint?.subsets ?? []).flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)),
    ...shown,
  ].map(canonicalAddress);
}

/** Returns the names in the certificate of the server; none without TLS, and none through a proxy. */
export async function shownNames(
  { server, proxy, credentials }: Pick<KubeAccess, "server" | "proxy" | "credentials">,
): Promise<string[]> {
  if (server.protocol !== "https:" || proxy) return [];
  const { tls: { cert: _, key: __, servername, ...tls } } = await credentials();
  const host = hostOf(server);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // An address is no server name (RFC 6066).
  const name = servername ?? (isIP(host) ? undefined : host);
  const socket = connect({
    host,
    port: Number(server.port || 443),
    ...tls,
    ...(name === undefined ? {} : { servername: name }),
    timeout: 10_000,
  });
  socket.once("secureConnect", () => resolve(socket.getPeerCertificate().subjectaltname ?? ""));
  socket.once("timeout", () => reject(new Error(`${server.host} does not answer within 10 s`)));
  socket.once("error", reject);
  try {
    return namesIn(await promise);
  } finally {
    socket.destroy();
  }
}

/** Node lists them as `DNS:a, IP Address:10.0.0.1`. */
function namesIn(text: string): string[] {
  return text.split(", ").flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? [])
    .map(canonicalAddress);
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/**
 * Trust in a cluster's CA by a digest of its public key, `sha256:HEX`: what kubeadm calls `discovery-token-ca-cert-hash`.
 *
 * Guarantees: only certificates whose key has that digest are accepted; others in the file are dropped. Nothing secret is sent
 * to a server that is not trusted yet.
 * Caveat: only clusters that publish their CA as kubeadm does can be asked for it; others need --ca-file.
 */
import { createHash, X509Certificate } from "node:crypto";
import { load } from "js-yaml";
import { connectCluster } from "../cluster.ts";

const infoPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/** Reports whether the text is a digest in the form of --ca-hash. */
export function isPin(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text);
}

/** Returns the certificates with the digest. If there are none, the error names `owner` and the digests found. */
export function pinnedCertificates(pem: string, pin: string, owner: string): string {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error(`the CA of ${owner} is not a PEM certificate`);
  const digests = blocks.map((block) => digestOf(block, owner));
  const pinned = blocks.filter((_, index) => digests[index] === pin);
  if (pinned.length === 0) {
    throw new Error(`the CA of ${owner} has the hash ${digests.join(" and ")}, not ${pin}`);
  }
  return `${pinned.join("\n")}\n`;
}

/** Asks an untrusted server for its CA. The caller must check the digest of the answer. */
export async function fetchPublishedCa(
  server: string,
  env: Record<string, string | undefined>,
): Promise<string> {
  using cluster = await connectCluster({ server, insecureSkipTlsVerify: true, env });
  let info;
  try {
    info = await cluster.client.request<{ data?: { kubeconfig?: string } }>({ path: infoPath });
  } catch (cause) {
    throw new Error(`${server} does not publish its CA: name it with --ca-file FILE`, { cause });
  }
  const published = load(info.data?.kubeconfig ?? "") as Published | undefined;
  const data = published?.clusters?.[0]?.cluster?.["certificate-authority-data"];
  if (typeof data !== "string") {
    throw new Error(`${server} publishes no CA in ${infoPath}: name it with --ca-file FILE`);
  }
  return atob(data);
}

/** What is read of the published kubeconfig, which has a cluster but no user. */
type Published = { clusters?: { cluster?: { "certificate-authority-data"?: unknown } }[] };

function digestOf(certificate: string, owner: string): string {
  try {
    const key = new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" });
    return `sha256:${createHash("sha256").update(key).digest("hex")}`;
  } catch (cause) {
    throw new Error(`the CA of ${owner} is not a PEM certificate`, { cause });
  }
}

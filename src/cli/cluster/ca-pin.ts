/**
 * Trust in a cluster's CA by a digest of its public key, `sha256:HEX`: what kubeadm calls `discovery-token-ca-cert-hash`.
 *
 * Guarantees: only certificates whose key has that digest get through, whatever came along with them. A server that is not trusted
 * yet is sent nothing secret.
 * Caveat: only clusters that publish their CA as kubeadm does can be asked for it; for others there is the file.
 */
import { createHash, X509Certificate } from "node:crypto";
import { load } from "js-yaml";
import { connectCluster } from "./connect.ts";

const infoPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/** Whether the text is a digest as people give it. */
export function isPin(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text);
}

/** The certificates of the PEM text that have the digest; none is an error that tells the digest they have. `owner` names whose they are. */
export function pinnedCertificates(pem: string, pin: string, owner: string): string {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error(`the CA of ${owner} is not a certificate in PEM`);
  const digests = blocks.map((block) => digestOf(block, owner));
  const pinned = blocks.filter((_, index) => digests[index] === pin);
  if (pinned.length === 0) {
    throw new Error(`the CA of ${owner} has the hash ${digests.join(" and ")}, not ${pin}`);
  }
  return `${pinned.join("\n")}\n`;
}

/** Asks a server that nobody vouches for for its CA. The answer is worth nothing before its digest was looked at. */
export async function fetchPublishedCa(
  server: string,
  env: Record<string, string | undefined>,
): Promise<string> {
  using cluster = await connectCluster({ server, insecureSkipTlsVerify: true, env });
  let info;
  try {
    info = await cluster.client.request<{ data?: { kubeconfig?: string } }>({ path: infoPath });
  } catch (cause) {
    throw new Error(`${server} does not publish its CA, give it as a file`, { cause });
  }
  const published = load(info.data?.kubeconfig ?? "") as Published | undefined;
  const data = published?.clusters?.[0]?.cluster?.["certificate-authority-data"];
  if (typeof data !== "string") {
    throw new Error(`${server} publishes no CA in ${infoPath}, give it as a file`);
  }
  return atob(data);
}

/** What is read of the kubeconfig in the answer: it has a cluster and no user. */
type Published = { clusters?: { cluster?: { "certificate-authority-data"?: unknown } }[] };

function digestOf(certificate: string, owner: string): string {
  try {
    const key = new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" });
    return `sha256:${createHash("sha256").update(key).digest("hex")}`;
  } catch (cause) {
    throw new Error(`the CA of ${owner} is not a certificate in PEM`, { cause });
  }
}

/**
 * How an agent that was given a bootstrap token reaches the API server: with a certificate of its own, which it requests with the token.
 *
 * Guarantees: the key is made here once, is written before it is used, and is sent nowhere. It proves to the approver that the name of
 * the node is ours, so it stays for all certificates. The token is used while there is no certificate, and when the server rejects
 * the one there is, such as after months without power. Until then requests fail with the reason, and no app is touched.
 */
import { createPublicKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import { agentGroup, agentUser, bootstrapGroup, clientSigner } from "../../api/names.ts";
import { certificateExpiry, type KubeAccess, type TlsMaterial } from "../../kube/access/access.ts";
import { createKubeClient, type KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import type { Logger } from "../../lib/log.ts";
import { isoSeconds } from "../../lib/time.ts";
import { createCertificateKeeper, type KeeperOptions, type Pair } from "./keep-certificate.ts";
import { pemOf, readOrMakeKey, readPair } from "./pair-files.ts";
import { type Outcome, requestCertificate } from "./request-certificate.ts";

export interface ClientIdentity {
  /** With the certificate, whatever it is at that moment. */
  access: KubeAccess;
  /** Requests and renews it until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ClientIdentityOptions extends Pick<KeeperOptions, "random" | "now" | "steady"> {
  /** The way with the bootstrap token. */
  bootstrap: KubeAccess;
  node: string;
  /** Where key and certificate are kept. */
  folder: string;
  log: Logger;
  connect?: (access: KubeAccess) => KubeClient;
}

const files = { key: "client.key", cert: "client.crt", kubeconfig: "kubeconfig" };

/** Returns the path of the kubeconfig with the certificate, for the commands of the node. */
export function ownKubeconfig(folder: string): string {
  return join(folder, files.kubeconfig);
}

/** With the certificate that was saved, if there is one. */
export async function createClientIdentity(options: ClientIdentityOptions): Promise<ClientIdentity> {
  const { bootstrap, node, folder, log, connect = (access) => createKubeClient(access) } = options;
  const [keyFile, certFile] = [join(folder, files.key), join(folder, files.cert)];
  let last: { pair: Pair; from: TlsMaterial; tls: TlsMaterial } | undefined;

  const access: KubeAccess = {
    server: bootstrap.server,
    get namespace() {
      return bootstrap.namespace;
    },
    get proxy() {
      return bootstrap.proxy;
    },
    describe: () => `${bootstrap.describe().replace(/ \(.*$/, "")} (certificate of ${agentUser(node)})`,
    async credentials() {
      const pair = keeper.current();
      if (!pair) throw new Error(`this node has no client certificate yet: ${keeper.problem()}`);
      const { tls: from } = await bootstrap.credentials();
      if (last?.pair !== pair || last.from !== from) last = { pair, from, tls: { ...from, ...pair } };
      return { headers: {}, tls: last.tls };
    },
    refresh: () => keeper.reject(),
    expiries: () => ({
      ...bootstrap.expiries(),
      token: undefined,
      "client-certificate": certificateExpiry(keeper.current()?.cert ?? ""),
    }),
  };

  const ask = async (from: KubeAccess, pair: Pair | undefined, signal: AbortSignal) => {
    const privateKey = await readOrMakeKey(keyFile, log);
    const keys = { privateKey, publicKey: createPublicKey(privateKey) };
    const client = connect(from);
    try {
      const outcome = await requestCertificate(client, {
        node,
        organization: agentGroup,
        commonName: agentUser(node),
        names: [],
        signerName: clientSigner,
        usages: ["digital signature", "client auth"],
        keys,
        replaces: pair && new X509Certificate(pair.cert).serialNumber,
      }, { signal, log });
      return { ...outcome, key: pemOf(privateKey) };
    } finally {
      client.close();
    }
  };

  const keeper = createCertificateKeeper({
    ...options,
    what: "client certificate",
    load: () => readPair({ keyFile, certFile }, agentUser(node)),
    async save({ cert }) {
      await writeFileAtomic(certFile, cert);
      await writeFileAtomic(ownKubeconfig(folder), await kubeconfigOf(bootstrap, { keyFile, certFile }));
    },
    async request(pair, signal) {
      // A request of its own: what the certificate does not get is no reason to reject it once more.
      const byCertificate = pair && await ask({ ...access, refresh() {} }, pair, signal).catch((error) => {
        if (!hasStatus(error, 401)) throw error;
        return { refused: `the API server does not accept the certificate: ${expiry(pair)}`, key: "" };
      });
      if (byCertificate && !("refused" in byCertificate)) return byCertificate;
      const why = byCertificate ? `${(byCertificate as { refused: string }).refused}; ` : "";
      const byToken = await ask(bootstrap, pair, signal).catch((error) => ({ ...refusal(error), key: "" }));
      return "refused" in byToken ? { ...byToken, refused: `${why}${byToken.refused}` } : byToken;
    },
    log,
  });
  await keeper.load();
  return { access, run: keeper.run };
}

/** What users can do about a token that the server does not take. */
function refusal(error: unknown): Outcome {
  if (hasStatus(error, 401)) {
    return {
      refused:
        "the API server does not accept the bootstrap token: it has expired or was deleted; create another " +
        "one and run nckubelet join",
    };
  }
  if (!hasStatus(error, 403)) throw error;
  return {
    refused:
      `the bootstrap token may not request certificates: its Secret needs auth-extra-groups: ${bootstrapGroup}, ` +
      "and the cluster the roles of nckubelet manifests",
  };
}

function expiry({ cert }: Pair): string {
  const until = Date.parse(new X509Certificate(cert).validTo);
  return `it is valid until ${isoSeconds(until)}, and the clock here shows ${isoSeconds(Date.now())}`;
}

async function kubeconfigOf(
  bootstrap: KubeAccess,
  { keyFile, certFile }: { keyFile: string; certFile: string },
): Promise<string> {
  const { server, proxy } = bootstrap;
  const { ca, servername, rejectUnauthorized } = (await bootstrap.credentials()).tls;
  const cluster = {
    server: server.href.replace(/\/$/, ""),
    "certificate-authority-data": ca && btoa(ca),
    "tls-server-name": servername,
    "insecure-skip-tls-verify": rejectUnauthorized ? undefined : true,
    "proxy-url": proxy?.href,
  };
  const user = { "client-certificate": certFile, "client-key": keyFile };
  const name = "nckubelet";
  // JSON is YAML.
  return JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      "current-context": name,
      contexts: [{ name, context: { cluster: name, user: name } }],
      clusters: [{ name, cluster }],
      users: [{ name, user }],
    },
    null,
    2,
  );
}

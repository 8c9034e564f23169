/**
 * The certificate by which the API server knows that it speaks to this node: signed by the cluster, for the names and addresses of the
 * Node. Without one, the self-signed one stays in use.
 *
 * The signer is the one of kubelets, and so is the subject that it requires. It makes the certificate no identity at the API server:
 * its only use is that of a server.
 */
import { createPublicKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { join } from "node:path";
import { servingGroup, servingSigner, servingUser } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { writeFileAtomic } from "../../lib/files.ts";
import type { Logger } from "../../lib/log.ts";
import { createCertificateKeeper, type Pair } from "./keep-certificate.ts";
import { pemOf, readOrMakeKey, readPair } from "./pair-files.ts";
import { requestCertificate } from "./request-certificate.ts";

export interface ServingCertificate {
  /** The signed pair; undefined while there is none that is valid. */
  current(): Pair | undefined;
  /** The names of the Node have changed. */
  look(): void;
  run(signal: AbortSignal): Promise<void>;
}

export interface ServingOptions {
  client: KubeClient;
  node: string;
  folder: string;
  /** The names and addresses of the Node, as it has them now; none while there is no Node of this agent. */
  names(): string[];
  log: Logger;
  random?: () => number;
}

export function createServingCertificate(options: ServingOptions): ServingCertificate {
  const { client, node, folder, names, log, random } = options;
  const [keyFile, certFile] = [join(folder, "serving.key"), join(folder, "serving.crt")];
  const keeper = createCertificateKeeper({
    what: "serving certificate",
    load: () => readPair({ keyFile, certFile }, servingUser(node)),
    save: ({ cert }) => writeFileAtomic(certFile, cert),
    isPossible: () => names().length > 0,
    isCurrent: ({ cert }) => covers(cert, names()),
    async request(before, signal) {
      const wanted = names();
      const privateKey = await readOrMakeKey(keyFile, log);
      const outcome = await requestCertificate(client, {
        node,
        organization: servingGroup,
        commonName: servingUser(node),
        names: wanted,
        signerName: servingSigner,
        usages: ["digital signature", "key encipherment", "server auth"],
        keys: { privateKey, publicKey: createPublicKey(privateKey) },
        replaces: before && new X509Certificate(before.cert).serialNumber,
      }, { signal, log });
      return { ...outcome, key: pemOf(privateKey) };
    },
    log,
    random,
  });
  return {
    current() {
      const pair = keeper.current();
      return pair && Date.parse(new X509Certificate(pair.cert).validTo) > Date.now() ? pair : undefined;
    },
    look: keeper.look,
    async run(signal) {
      await keeper.load();
      await keeper.run(signal);
    },
  };
}

function covers(cert: string, names: string[]): boolean {
  const certificate = new X509Certificate(cert);
  return names.every((name) =>
    (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined
  );
}

/**
 * The certificate of this agent's listeners with TLS, unless files have it: signed by the cluster for the names of the Node, and
 * self-signed until then.
 */
import { isIP } from "node:net";
import { hostname } from "node:os";
import { isHostOf } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { readNodeFacts } from "../../node/facts.ts";
import type { ServingCertificate } from "../../node/identity/identity.ts";
import { isHostName } from "../../lib/x509/x509.ts";
import { isLoopback, parseAddress } from "../../lib/special-addresses.ts";
import { type KeyPair, readKeyPair } from "../../server/listen/listen.ts";
import type { AgentOptions } from "../options.ts";

export interface OwnCertificate {
  /** What to serve with now. */
  readPair(): Promise<KeyPair>;
  /** What is known about the Node; `registered`: it belongs to this agent. */
  nodeSeen(node: { registered: boolean; addresses: string[] }): void;
  /** Requests and renews the signed one until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function createOwnCertificate(
  options: AgentOptions,
  client: KubeClient | undefined,
): OwnCertificate {
  const { nodeName: node, stateDir: folder, tlsCertFile: certFile, tlsKeyFile: keyFile, log } = options;
  if (certFile && keyFile) {
    return { readPair: () => readKeyPair({ certFile, keyFile }), nodeSeen() {}, run: async () => {} };
  }
  let names: string[] = [];
  let signed: ServingCertificate | undefined;
  return {
    async readPair() {
      const pair = signed?.current();
      if (pair) return pair;
      const { addresses } = await readNodeFacts();
      const { readSelfSigned } = await import("../../server/listen/self-signed.ts");
      return await readSelfSigned({ folder, node, names: namesOf(node, addresses) });
    },
    nodeSeen({ registered, addresses }) {
      const before = names.join();
      names = registered
        ? namesOf(node, addresses).filter((name) => isIP(name) || mayBeSigned(node, name))
        : [];
      if (names.join() !== before) signed?.look();
    },
    async run(signal) {
      const isServed = options.kubeletListen || listensElsewhere(options.listen);
      if (!client || !isServed) return;
      const { createServingCertificate } = await import("../../node/identity/identity.ts");
      signed = createServingCertificate({ client, node, folder, names: () => names, log });
      await signed.run(signal);
    },
  };
}

function listensElsewhere(listen: string): boolean {
  return listen.split(",").some((address) =>
    address.trim() && !isLoopback(parseAddress(address.trim()).host)
  );
}

/** The cluster's authority signs no other names. */
function mayBeSigned(node: string, name: string): boolean {
  return isHostName(name) && isHostOf(node, name);
}

function namesOf(node: string, addresses: string[]): string[] {
  return [...new Set([node, hostname().toLowerCase(), ...addresses])];
}

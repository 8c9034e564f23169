/** Opens the agent's listeners: the unix socket, ports on loopback, and ports with TLS and a token check. */
import type { KubeClient } from "../kube/client/client.ts";
import { isLoopback } from "../lib/special-addresses.ts";
import { type Authorize, createServerApp } from "../server/app.ts";
import {
  isLoopbackHost,
  type KeyPairFiles,
  listenOnPort,
  listenOnSocket,
  listenWithTLS,
  type OpenListener,
  parseAddress,
} from "../server/listen/listen.ts";
import type { Services } from "../server/services.ts";
import type { AgentOptions } from "./options.ts";

export interface ListenerParts extends Omit<Services, "followers" | "stateDir"> {
  /** Reviews tokens that no file lists. */
  client?: KubeClient;
}

const maxFollowers = 64;

/** Opens the listeners of the options and returns their addresses; `opened` closes them. Throws if one would not be safe. */
export async function openListeners(
  options: AgentOptions,
  { client, ...parts }: ListenerParts,
  opened: AsyncDisposableStack,
): Promise<string[]> {
  const { listen, socket, log } = options;
  const services: Services = {
    ...parts,
    stateDir: options.stateDir,
    followers: { now: 0, most: maxFollowers },
  };
  const addresses = listen.split(",").map((address) => address.trim()).filter(Boolean);
  const isOnLoopback = (address: string) => isLoopback(parseAddress(address).host);
  const [loopback, others] = [
    addresses.filter(isOnLoopback),
    addresses.filter((address) => !isOnLoopback(address)),
  ];
  const found: string[] = [];
  const open = async (listening: Promise<OpenListener>) => {
    const listener = await listening;
    opened.defer(() => listener.close());
    found.push(listener.address);
  };

  const guard = others[0] === undefined ? undefined : await createGuard(others[0], options, client);
  if (socket) await open(listenOnSocket(createServerApp({ kind: "socket" }, services), socket));
  for (const address of loopback) {
    const app = createServerApp({ kind: "loopback", isOwnHost: isLoopbackHost }, services);
    await open(listenOnPort(app, address));
  }
  for (const address of guard ? others : []) {
    const app = createServerApp({ kind: "tls", authorize: guard!.authorize }, services);
    await open(listenWithTLS(app, address, guard!.files, { log }));
  }
  return found;
}

interface Guard {
  files: KeyPairFiles;
  authorize: Authorize;
}

/** Returns what a listener off loopback needs, or throws with what is missing. */
async function createGuard(
  address: string,
  { tlsCertFile, tlsKeyFile, tokenFile, nodeName, log }: AgentOptions,
  client: KubeClient | undefined,
): Promise<Guard> {
  const missing = [
    ...(tlsCertFile ? [] : ["--tls-cert-file"]),
    ...(tlsKeyFile ? [] : ["--tls-private-key-file"]),
    ...(tokenFile || client ? [] : ["--token-file or an API server to check tokens"]),
  ];
  if (!tlsCertFile || !tlsKeyFile || missing.length > 0) {
    throw new Error(`--listen ${address} is not on loopback: it needs ${missing.join(", ")}`);
  }
  // Loaded on demand: most agents listen on loopback only.
  const { openTokenFile } = await import("../server/listen/token-file.ts");
  const { createTokenReview } = await import("../server/listen/token-review.ts");
  const byFile = tokenFile ? await openTokenFile(tokenFile, log) : undefined;
  const byReview = client && createTokenReview({ client, node: nodeName, log });
  return {
    files: { certFile: tlsCertFile, keyFile: tlsKeyFile },
    async authorize(token, subresource) {
      const verdict = await byFile?.(token, subresource) ?? "unknown";
      return verdict === "unknown" && byReview ? await byReview(token, subresource) : verdict;
    },
  };
}

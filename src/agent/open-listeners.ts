/** Opens the agent's listeners, each with its limits of clients: the unix socket, ports on loopback, and ports with TLS and a token check. */
import { join } from "node:path";
import type { KubeClient } from "../kube/client/client.ts";
import { isLoopback, parseAddress } from "../lib/special-addresses.ts";
import { type Authorize, createServerApp, type Listener } from "../server/app.ts";
import {
  createLocalToken,
  isLoopbackHost,
  type KeyPair,
  listenOnPort,
  listenOnSocket,
  listenWithTLS,
  type OpenListener,
  openWithRetry,
  type PortProblems,
} from "../server/listen/listen.ts";
import type { Services } from "../server/services.ts";
import type { AgentOptions } from "./options.ts";

export interface ListenerParts
  extends Omit<Services, "followers" | "readers" | "stateDir" | "logDir" | "access" | "dashboardURL"> {
  /** Reviews tokens that no file lists. */
  client?: KubeClient;
  /** Filled with the ports that are not open. */
  ports: PortProblems;
  /** The certificate of ports with TLS; it may change. */
  readPair(): Promise<KeyPair>;
}

/** For each listener: its clients cannot shut out those of another. */
const clientLimits = () => ({
  followers: { now: 0, most: 64, use: "follow a log or watch apps" },
  readers: { now: 0, most: 16, use: "read a log" },
});

export interface Listeners {
  /** What is served; a port that another process has is added when it is free. */
  addresses: string[];
  /** The link that opens the dashboard, with its token; undefined while no loopback address is served. */
  dashboardURL(): string | undefined;
}

/** Opens the listeners of the options; `opened` closes them. Throws if a listener would not be safe. */
export async function openListeners(
  options: AgentOptions,
  { client, ports: problems, readPair, ...parts }: ListenerParts,
  opened: AsyncDisposableStack,
): Promise<Listeners> {
  const { listen, socket, log, reloads } = options;
  const addresses = listen.split(",").map((address) => address.trim()).filter(Boolean);
  const isOnLoopback = (address: string) => isLoopback(parseAddress(address).host);
  const [loopback, others] = [
    addresses.filter(isOnLoopback),
    addresses.filter((address) => !isOnLoopback(address)),
  ];
  const found: string[] = [];
  const local = loopback.length === 0 || options.openLoopback
    ? undefined
    : await createLocalToken(join(options.stateDir, "token"), log);
  const dashboardURL = () => {
    const url = found.find((address) => address.startsWith("http:"));
    return url && `${url}/${local ? `#token=${local.token}` : ""}`;
  };
  const { stateDir, logDir, kubeconfig, server, namespace } = options;
  const access = options.standalone ? undefined : { kubeconfig, server, namespace };
  const serve = (listener: Listener) =>
    createServerApp(listener, { ...parts, stateDir, logDir, access, dashboardURL, ...clientLimits() });
  let isStarting = true;
  const onOpen = (address: string) => {
    found.push(address);
    if (!isStarting) log.info("serving", { address });
  };
  const openAt = async (address: string, open: () => Promise<OpenListener>) => {
    const listener = await openWithRetry(address, open, { log, problems, onOpen });
    opened.defer(() => listener.close());
  };

  const authorize = others[0] === undefined ? undefined : await createGuard(others[0], options, client);
  if (socket) {
    const listener = await listenOnSocket(serve({ kind: "socket" }), socket);
    opened.defer(() => listener.close());
    found.push(listener.address);
  }
  for (const address of loopback) {
    const app = serve({ kind: "loopback", isOwnHost: isLoopbackHost, authorize: local?.authorize });
    await openAt(address, () => listenOnPort(app, address));
  }
  const onUse = ({ cert }: { cert: string }) => parts.counters.credentials.note("listen-certificate", cert);
  for (const address of authorize ? others : []) {
    const app = serve({ kind: "tls", authorize: authorize! });
    await openAt(
      address,
      () => listenWithTLS(app, address, { flag: "--listen", readPair, log, onUse, reloads }),
    );
  }
  isStarting = false;
  return { addresses: found, dashboardURL };
}

/** Returns who may use a listener off loopback, or throws with what it lacks. An agent of a cluster has a certificate of its own. */
async function createGuard(
  address: string,
  { tlsCertFile, tlsKeyFile, tokenFile, nodeName, log }: AgentOptions,
  client: KubeClient | undefined,
): Promise<Authorize> {
  const hasOwn = client && !tlsCertFile && !tlsKeyFile;
  const missing = [
    ...(tlsCertFile || hasOwn ? [] : ["--tls-cert-file"]),
    ...(tlsKeyFile || hasOwn ? [] : ["--tls-private-key-file"]),
    ...(tokenFile || client ? [] : ["--token-file or an API server to check tokens"]),
  ];
  if (missing.length > 0) {
    throw new Error(`--listen ${address} is not on loopback: it needs ${missing.join(", ")}`);
  }
  // Loaded on demand: most agents listen on loopback only.
  const { openTokenFile } = await import("../server/listen/token-file.ts");
  const { createTokenReview } = await import("../server/listen/token-review.ts");
  const byFile = tokenFile ? await openTokenFile(tokenFile, log) : undefined;
  const byReview = client && createTokenReview({ client, node: nodeName, log });
  return async (token, subresource, peer) => {
    const verdict = await byFile?.(token, subresource) ?? "unknown";
    return verdict === "unknown" && byReview ? await byReview(token, subresource, peer) : verdict;
  };
}

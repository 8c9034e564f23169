/**
 * Opens the listeners of the controllers: on loopback for everyone, on other addresses with TLS for who may read, and one that only
 * answers health checks.
 */
import type { Hono } from "hono";
import { hostname } from "node:os";
import type { KubeClient } from "../kube/client/client.ts";
import type { Logger } from "../lib/log.ts";
import { isLoopback, parseAddress } from "../lib/special-addresses.ts";
import type { CredentialTimes } from "../server/credential-times.ts";
import {
  listenForHealth,
  listenOnPort,
  listenWithTLS,
  type OpenListener,
  openWithRetry,
  type PortProblems,
  readKeyPair,
} from "../server/listen/listen.ts";
import { type AuthorizePath, createHealthApp } from "./serve.ts";

export interface ListenOptions {
  listen: string;
  healthListen: string;
  /** Without them, the certificate is self-signed, and new with every start. */
  tlsCertFile?: string;
  tlsKeyFile?: string;
  client: KubeClient;
  log: Logger;
  ports: PortProblems;
  credentials: CredentialTimes;
}

export async function openControllerListeners(
  createApp: (authorize?: AuthorizePath) => Hono,
  { listen, healthListen, ports, log, ...options }: ListenOptions,
): Promise<{ close(): Promise<void> }> {
  await using listeners = new AsyncDisposableStack();
  const onOpen = (address: string) => log.info("serving", { address });
  const openAt = async (address: string, open: () => Promise<OpenListener>) => {
    const listener = await openWithRetry(address, open, { log, problems: ports, onOpen });
    listeners.defer(() => listener.close());
  };
  for (const address of listen.split(",").map((word) => word.trim()).filter(Boolean)) {
    const isLocal = !address.startsWith(":") && isLoopback(parseAddress(address).host);
    if (isLocal) await openAt(address, () => listenOnPort(createApp(), address));
    else await openAt(address, await listenToReaders(createApp, address, { log, ...options }));
  }
  if (healthListen) {
    await openAt(healthListen, () => listenForHealth(createHealthApp(createApp()), healthListen));
  }
  const all = listeners.move();
  return { close: () => all.disposeAsync() };
}

async function listenToReaders(
  createApp: (authorize?: AuthorizePath) => Hono,
  address: string,
  { tlsCertFile: certFile, tlsKeyFile: keyFile, client, log, credentials }: Omit<
    ListenOptions,
    "listen" | "healthListen" | "ports"
  >,
): Promise<() => Promise<OpenListener>> {
  // Loaded on demand: on loopback there is nothing to review.
  const [{ createPathReview }, { keepSelfSigned }] = await Promise.all([
    import("../server/listen/token-review.ts"),
    import("../server/listen/self-signed.ts"),
  ]);
  const app = createApp(createPathReview({ client, log }));
  const readPair = certFile && keyFile
    ? () => readKeyPair({ certFile, keyFile })
    : keepSelfSigned("controller", [hostname().toLowerCase()]);
  const onUse = ({ cert }: { cert: string }) => credentials.note("listen-certificate", cert);
  return () => listenWithTLS(app, address, { flag: "--listen", readPair, log, onUse });
}

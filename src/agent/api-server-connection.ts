/** The agent's connection to the API server: one client for all of its parts, and a signal for each good answer. */
import { loadAccess } from "../kube/access/access.ts";
import { createKubeClient, type KubeClient, type RequestReport } from "../kube/client/client.ts";
import { createPulse, type Pulse } from "../lib/pulse.ts";
import { version } from "../lib/version.ts";
import type { AgentOptions } from "./options.ts";

export interface ApiServerConnection {
  client: KubeClient;
  /** Calls back once, at the next successful answer, unless the returned function is called first. */
  answered: Pulse["onNext"];
  /** Calls back at every successful answer. */
  onAnswer(listener: () => void): void;
  /** Keeps the certificate of an agent that joined with a bootstrap token. */
  keepIdentity?(signal: AbortSignal): Promise<void>;
}

/** Finds the API server by the options. Does not check that it answers: the sources do, and retry. */
export async function connectApiServer(
  { access: given, kubeconfig, server, env, log, nodeName: node, stateDir: folder }: AgentOptions,
  onRequest: (report: RequestReport) => void,
): Promise<ApiServerConnection> {
  const configured = await (given ?? loadAccess({ kubeconfig, server, env, log }));
  // Loaded on demand: most agents bring their credential.
  const identity = configured.isBootstrap
    ? await (await import("../node/identity/identity.ts")).createClientIdentity({
      bootstrap: configured,
      node,
      folder,
      log,
    })
    : undefined;
  const access = identity?.access ?? configured;
  log.info("using the API server", { server: access.describe() });
  const pulse = createPulse();
  const listeners: (() => void)[] = [pulse.beat];
  const client = createKubeClient(access, {
    userAgent: `nckubelet/${version}`,
    onRequest(report) {
      onRequest(report);
      if (report.code < 200 || report.code > 299) return;
      for (const listener of listeners) listener();
    },
  });
  return {
    client,
    answered: pulse.onNext,
    onAnswer: (listener) => void listeners.push(listener),
    keepIdentity: identity?.run,
  };
}

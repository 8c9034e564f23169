/**
 * The TLS endpoint of a node's agent, as an admin reaches it from another machine: with the bearer token that the API server knows.
 *
 * Guarantees: the token goes to nobody whose certificate is not trusted; every question ends, but for a followed log; an error
 * says what is missing and where to put it.
 * Why not the API server's proxy to nodes: it takes the token off a request, so that the agent would not know who asks, and
 * does not check the agent's certificate.
 */
import { type IncomingMessage } from "node:http";
import { request } from "node:https";
import type { Node } from "../../node/node-object.ts";
import { errorCode } from "../../lib/files.ts";
import { UsageError } from "../command.ts";

/** An agent, and all that it takes to ask it. */
export interface NodeEndpoint {
  node: string;
  /** `host:port`, the likeliest first. */
  addresses: string[];
  /** Authorities to trust, as PEM; without any, those of the system. */
  authorities: string[];
  token: string;
}

export const defaultPort = 10268;
const timeoutMs = 10_000;
const addressOrder = ["InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname"];

/** Where the agent of a node may be. `named` is `[HOST][:PORT]`, and wins. */
export function endpointAddresses(node: Node | undefined, named = ""): string[] {
  const match = /^(\[[^\]]+\]|[^:/]*)(?::(\d{1,5}))?$/.exec(named);
  if (!match) throw new UsageError(`--agent ${JSON.stringify(named)}: use HOST, HOST:PORT or :PORT`);
  const [, host, port = String(defaultPort)] = match;
  if (host) return [`${host}:${port}`];
  const known = node?.status?.addresses ?? [];
  return addressOrder.flatMap((type) => known.filter((address) => address.type === type))
    .map(({ address }) => `${address.includes(":") ? `[${address}]` : address}:${port}`);
}

/** The bytes that the agent answers with, as they come, until the signal aborts. */
export async function* streamFromNode(
  endpoint: NodeEndpoint,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const response = await open(endpoint, path, signal).catch((error) => {
    if (!signal.aborted) throw error;
  });
  if (!response) return;
  try {
    yield* response;
  } catch (error) {
    if (signal.aborted) return;
    throw new Error(`the agent of ${endpoint.node} broke off: ${errorCode(error)}`, { cause: error });
  }
}

/** Tries one address after the other; whoever answers, if only with a refusal, is the agent. */
async function open(endpoint: NodeEndpoint, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  const failures: { address: string; cause: Error }[] = [];
  for (const address of endpoint.addresses) {
    try {
      return await acceptable(endpoint, await send(address, endpoint, path, signal));
    } catch (cause) {
      if (signal.aborted || cause instanceof NodeRefusal) throw cause;
      failures.push({ address, cause: cause as Error });
    }
  }
  const told = failures.find(({ cause }) => isAboutTrust(cause)) ?? failures[0];
  if (!told) throw new Error(`${endpoint.node} has no address; name one with --agent HOST:PORT`);
  throw explain(endpoint.node, told.address, told.cause);
}

function send(
  address: string,
  { authorities, token }: NodeEndpoint,
  path: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const call = request(`https://${address}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      agent: false,
      signal,
      ...(authorities.length > 0 ? { ca: authorities } : {}),
    });
    const timer = setTimeout(
      () => call.destroy(Object.assign(new Error("no answer"), { code: "ETIMEDOUT" })),
      timeoutMs,
    );
    call.on("response", (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    call.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    call.end();
  });
}

/** The agent answered, and the answer is no. */
class NodeRefusal extends Error {}

async function acceptable({ node }: NodeEndpoint, response: IncomingMessage): Promise<IncomingMessage> {
  const status = response.statusCode ?? 0;
  if (status === 200) return response;
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text = (text + chunk).slice(0, 10_000);
  throw new NodeRefusal(
    `the agent of ${node} says: ${messageIn(text) ?? `status ${status}`}${hints[status] ?? ""}`,
  );
}

const hints: Record<number, string> = {
  401: "; it asks the API server of its own kubeconfig, or looks into its --token-file",
  403: "; an admin may grant it: kubectl create clusterrole ncapp-logs --verb=get --resource=nodes/proxy, " +
    "and kubectl create clusterrolebinding ncapp-logs --clusterrole=ncapp-logs --user=NAME",
};

function messageIn(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

function isAboutTrust(error: Error): boolean {
  return /CERT|SIGNATURE|ISSUER/.test(errorCode(error));
}

function explain(node: string, address: string, cause: Error): Error {
  const code = errorCode(cause);
  const url = `https://${address}`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return new Error(
      `the certificate of ${url} is for another name: use one of its names with --agent HOST:PORT`,
      { cause },
    );
  }
  if (isAboutTrust(cause)) {
    return new Error(`the certificate of ${url} is not trusted: name its authority with --agent-ca FILE`, {
      cause,
    });
  }
  return new Error(
    `no agent answers with TLS at ${url} (${code}). Its endpoint is on loopback unless /etc/nckubelet/config.yaml on ${node} has ` +
      `these lines, and the agent was restarted since; or name another place with --agent HOST:PORT:\n` +
      `  listen: "127.0.0.1:${defaultPort},${address}"\n` +
      `  tls-cert-file: /etc/nckubelet/tls.crt\n` +
      `  tls-private-key-file: /etc/nckubelet/tls.key`,
  );
}

/**
 * The TLS endpoint of another node's agent, as an admin reaches it: with the bearer token that the API server knows.
 *
 * Guarantees: the token is sent only to servers with a trusted certificate; every request ends, except for a followed log; an
 * error says what is missing and where to set it.
 * The API server's proxy to nodes is not used: it removes the token from the request, so that the agent would not know the user,
 * and does not check the agent's certificate.
 */
import { text as readText } from "node:stream/consumers";
import { errorCode } from "../../lib/files.ts";
import type { Node } from "../../node/node-object.ts";
import { UsageError } from "../command.ts";
import { type AgentResponse, sendRequest } from "./request.ts";

export interface NodeEndpoint {
  node: string;
  /** `host:port`, the likeliest first. */
  addresses: string[];
  /** Authorities to trust, as PEM; without any, those of the system. */
  authorities: string[];
  token: string;
}

const defaultPort = 10268;
const addressOrder = ["InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname"];

/** Returns where the agent of a node may listen. `named` is `[HOST][:PORT]` and takes precedence. */
export function endpointAddresses(node: Node | undefined, named = ""): string[] {
  const match = /^(\[[^\]]+\]|[^:/]*)(?::(\d{1,5}))?$/.exec(named);
  if (!match) throw new UsageError(`--agent ${JSON.stringify(named)}: use HOST, HOST:PORT or :PORT`);
  const [, host, port = String(defaultPort)] = match;
  if (host) return [`${host}:${port}`];
  const known = node?.status?.addresses ?? [];
  return addressOrder.flatMap((type) => known.filter((address) => address.type === type))
    .map(({ address }) => `${address.includes(":") ? `[${address}]` : address}:${port}`);
}

/** Yields the body of the response until the signal aborts. */
export async function* streamFromNode(
  endpoint: NodeEndpoint,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const response = await openStream(endpoint, path, signal).catch((error) => {
    if (!signal.aborted) throw error;
  });
  if (!response) return;
  try {
    yield* response.body;
  } catch (cause) {
    if (signal.aborted) return;
    throw new Error(`the agent of ${endpoint.node} closed the connection: ${errorCode(cause)}`, { cause });
  }
}

/** Tries one address after the other. The first server that answers, even with a refusal, is the agent. */
async function openStream(endpoint: NodeEndpoint, path: string, signal: AbortSignal): Promise<AgentResponse> {
  const { node, addresses, authorities, token } = endpoint;
  const headers = { authorization: `Bearer ${token}` };
  const connect = authorities.length > 0 ? { ca: authorities } : {};
  const failures: { address: string; cause: Error }[] = [];
  for (const address of addresses) {
    const request = { origin: `https://${address}`, path, headers, connect, signal };
    try {
      return await checkStatus(node, await sendRequest(request, { stream: true }));
    } catch (cause) {
      if (signal.aborted || cause instanceof NodeRefusal) throw cause;
      failures.push({ address, cause: cause as Error });
    }
  }
  const failure = failures.find(({ cause }) => isAboutTrust(cause)) ?? failures[0];
  if (!failure) throw new Error(`${node} has no address; name one with --agent HOST:PORT`);
  throw explain(node, failure.address, failure.cause);
}

class NodeRefusal extends Error {}

async function checkStatus(node: string, response: AgentResponse): Promise<AgentResponse> {
  const { status, body } = response;
  if (status === 200) return response;
  const message = messageIn(await readText(body)) ?? `status ${status}`;
  throw new NodeRefusal(`the agent of ${node} refused: ${message}${hints[status] ?? ""}`);
}

const hints: Record<number, string> = {
  401: "; it checks tokens with the API server of its own kubeconfig, or with its --token-file",
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
    return new Error(`the certificate of ${url} is not trusted: name its CA with --agent-ca FILE`, { cause });
  }
  return new Error(
    `no agent answers with TLS at ${url} (${code}). By default it listens on loopback only. Add these lines to ` +
      `/etc/nckubelet/config.yaml on ${node} and restart the agent, or name another address with --agent HOST:PORT:\n` +
      `  listen: "127.0.0.1:${defaultPort},${address}"\n` +
      `  tls-cert-file: /etc/nckubelet/tls.crt\n` +
      `  tls-private-key-file: /etc/nckubelet/tls.key`,
  );
}

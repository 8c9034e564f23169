/** Finds the endpoint of the agent on an app's node: its addresses, the authorities to trust and a token. */
import { readFile } from "node:fs/promises";
import { keyOf } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { nodes, resourcePath } from "../../kube/resources.ts";
import { errorCode } from "../../lib/files.ts";
import type { Node } from "../../node/node-object.ts";
import { endpointAddresses, type NodeEndpoint } from "../agent-api/agent-api.ts";
import { type Flag, type Invocation, textFlag } from "../command.ts";

export const endpointFlags: Record<string, Flag> = {
  agent: {
    kind: "text",
    value: "[HOST][:PORT]",
    help: "Address of the agent.",
    default: "the addresses of its Node, port 10268",
  },
  "agent-ca": {
    kind: "text",
    value: "FILE",
    help: "CA of the agent's certificate.",
    default: "that of the API server",
  },
  "token-file": {
    kind: "text",
    value: "FILE",
    help: "Bearer token for the agent.",
    default: "that of the kubeconfig",
  },
};

/** Finds the endpoint by the flags and the app's Node. Errors say which flag provides what is missing. */
export async function findEndpoint(
  { metadata, spec, status }: NCApp,
  invocation: Invocation,
  client: KubeClient,
): Promise<NodeEndpoint> {
  const key = keyOf({ metadata });
  const node = spec.nodeName;
  if (!node) {
    const why = status?.message ? ` (${status.message})` : "";
    throw new Error(`${key} has no node yet${why}, so it has no log; see 'kubectl ncapp describe ${key}'`);
  }
  const named = textFlag(invocation, "agent");
  const hasHost = named !== undefined && !named.startsWith(":");
  const token = await readFlagFile(invocation, "token-file") ?? await bearerToken(client);
  if (!token) {
    throw new Error(
      "the agent accepts bearer tokens, and this kubeconfig has none: name one with --token-file FILE, " +
        "such as one that 'kubectl create token' prints",
    );
  }
  const agentCa = await readFlagFile(invocation, "agent-ca");
  const { ca: serverCa } = await client.access.tls();
  return {
    node,
    addresses: endpointAddresses(hasHost ? undefined : await readNode(client, node), named),
    authorities: [agentCa, serverCa].filter((pem) => pem !== undefined),
    token: token.trim(),
  };
}

async function readNode(client: KubeClient, name: string): Promise<Node> {
  try {
    return await client.request<Node>({ path: resourcePath(nodes, { name }) });
  } catch (cause) {
    const why = hasStatus(cause, 404)
      ? `there is no Node ${name}`
      : hasStatus(cause, 403)
      ? `you may not get the Node ${name}`
      : `cannot read the Node ${name}`;
    throw new Error(`${why}, which has the address of its agent: name the address with --agent HOST:PORT`, {
      cause,
    });
  }
}

/** The token of the kubeconfig; undefined if the user authenticates in another way. */
async function bearerToken(client: KubeClient): Promise<string | undefined> {
  const { headers } = await client.access.authorize();
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1];
  return /^Bearer (.+)$/.exec(value ?? "")?.[1];
}

async function readFlagFile(invocation: Invocation, name: string): Promise<string | undefined> {
  const path = textFlag(invocation, name);
  return path === undefined ? undefined : await readFile(path, "utf8").catch((cause) => {
    throw new Error(`--${name} ${path}: ${errorCode(cause)}`, { cause });
  });
}

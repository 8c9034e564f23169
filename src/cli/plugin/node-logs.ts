import { readFile } from "node:fs/promises";
import { keyOf } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";
import { errorCode } from "../../lib/files.ts";
import { logPath, oneApp } from "../agent-api/agent-api.ts";
import { type Command, type Flag, type Invocation, textFlag } from "../command.ts";
import { logChoice, logFlags } from "../commands/logs.ts";
import { endpointAddresses, type NodeEndpoint, streamFromNode } from "../cluster/cluster.ts";
import { type ClusterApps, clusterFlags, connectApps } from "./cluster-apps.ts";

const endpointFlags: Record<string, Flag> = {
  agent: {
    kind: "text",
    value: "[HOST][:PORT]",
    help: "Where the agent listens with TLS.",
    default: "the addresses of its Node, port 10268",
  },
  "agent-ca": {
    kind: "text",
    value: "FILE",
    help: "Authority of the agent's certificate.",
    default: "that of the API server",
  },
  "token-file": {
    kind: "text",
    value: "FILE",
    help: "Bearer token for the agent.",
    default: "that of the kubeconfig",
  },
};

/** Prints what an app wrote on whichever node it is: asks the agent there. */
export const logsCommand: Command = {
  name: "logs",
  summary: "Print the log of an NCApp, from its node.",
  operands: "APP",
  flags: { ...logFlags, ...endpointFlags, ...clusterFlags },
  examples: ["kubectl ncapp logs web", "kubectl ncapp logs -f --tail 20 shop/web"],
  async run(invocation, io) {
    using cluster = await connectApps(invocation, io);
    const name = oneApp(invocation, cluster.namespace);
    const choice = logChoice(invocation);
    const endpoint = await findEndpoint(await cluster.get(name), invocation, cluster);
    for await (const bytes of streamFromNode(endpoint, logPath(name, choice), io.signal)) io.stdout(bytes);
    return 0;
  },
};

async function findEndpoint(
  { metadata, spec, status }: NCApp,
  invocation: Invocation,
  cluster: ClusterApps,
): Promise<NodeEndpoint> {
  const key = keyOf({ metadata });
  const node = spec.nodeName;
  if (!node) {
    const why = status?.message ? ` (${status.message})` : "";
    throw new Error(
      `${key} is on no node yet${why}: there is no log; 'kubectl ncapp describe ${key}' says more`,
    );
  }
  const named = textFlag(invocation, "agent");
  const hasHost = named !== undefined && !named.startsWith(":");
  const token = await fileFlag(invocation, "token-file") ?? await cluster.token();
  if (!token) {
    throw new Error(
      "the agent takes bearer tokens, and this kubeconfig has none: give one with --token-file FILE, " +
        "such as one that 'kubectl create token' prints",
    );
  }
  const authority = await fileFlag(invocation, "agent-ca");
  return {
    node,
    addresses: endpointAddresses(hasHost ? undefined : await cluster.node(node), named),
    authorities: [authority, await cluster.authority()].filter((pem) => pem !== undefined),
    token: token.trim(),
  };
}

async function fileFlag(invocation: Invocation, name: string): Promise<string | undefined> {
  const path = textFlag(invocation, name);
  return path === undefined ? undefined : await readFile(path, "utf8").catch((cause) => {
    throw new Error(`--${name} ${path}: ${errorCode(cause)}`, { cause });
  });
}

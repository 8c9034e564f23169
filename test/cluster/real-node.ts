import type { KubeClient } from "../../src/kube/client/client.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { readNodeFacts } from "../../src/node/facts.ts";
import { createNodeAgent, type NodeAgent, type NodeAgentOptions } from "../../src/node/node-agent.ts";
import { createUsageReader } from "../../src/node/usage.ts";
import { identity } from "../node/samples.ts";

export const usage = createUsageReader({ diskPath: "/" });

/** An agent's part for its Node, with the facts of this machine. */
export function createRealNode(
  client: KubeClient,
  node: string,
  change: Partial<NodeAgentOptions> = {},
): NodeAgent {
  return createNodeAgent({
    client,
    node,
    identity,
    version: "1.2.3",
    mode: "auto",
    log: silentLogger,
    facts: readNodeFacts,
    usage,
    free: () => ({ cpuPCT: 70, memPCT: 45.5 }),
    ...change,
  });
}

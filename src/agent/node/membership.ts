/**
 * Decides whether this agent acts for its node: the state must belong to this node and cluster, and no other agent may renew the
 * node's Lease. The gate has the result.
 */
import { createHash } from "node:crypto";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { agentLease, leaseNamespace } from "../../api/names.ts";
import { createBackoff } from "../../lib/backoff.ts";
import type { Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { AgentIdentity } from "../../node/holder.ts";
import type { Standing } from "../../node/leases.ts";
import {
  nextRecord,
  nodeChange,
  type NodeRecord,
  readCluster,
  readNodeRecord,
  writeNodeRecord,
} from "../../node/node-record.ts";
import { sourceNames } from "../../sources/source.ts";
import { isAlive, parseStat } from "../../supervisor/processes.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { AgentOptions } from "../options.ts";
import { createGate, type Gate } from "./gate.ts";

export interface Membership {
  gate: Gate;
  identity: AgentIdentity;
  /** Checks that the state belongs to this node and cluster; resolves to whether it does. */
  settle(client: KubeClient, signal: AbortSignal): Promise<boolean>;
  /** Applies what the Lease shows. */
  onStanding(standing: Standing): void;
}

export interface MembershipParts {
  options: Pick<AgentOptions, "stateDir" | "nodeName" | "acceptNodeNameChange" | "log">;
  supervisor: Pick<Supervisor, "list" | "hasLost">;
  bootId: string;
}

export async function createMembership(
  { options, supervisor, bootId }: MembershipParts,
): Promise<Membership> {
  const { stateDir, nodeName, log } = options;
  const gate = createGate();
  const before = await readNodeRecord(stateDir);
  const { id: state } = nextRecord(before, { node: nodeName });

  /** Apps that a list without them would stop. */
  const hasApps = () =>
    supervisor.hasLost ||
    supervisor.list().some(({ record }) => record.source === sourceNames.apiServer && !record.withdrawn);

  const refuse = (change: string) => {
    const why =
      `${change}: its apps of the API server stay as they are, and it takes no others. Restore the name or ` +
      "the API server to keep them; to stop and delete them, run `nckubelet join`, or start the agent once with " +
      "--accept-node-name-change";
    log.error(why);
    gate.close(why);
    return false;
  };

  return {
    gate,
    identity: { host: hostname(), state, ...await thisProcess(bootId) },
    async settle(client, signal) {
      const isProtected = () => !options.acceptNodeNameChange && hasApps();
      const renamed = nodeChange(before, { node: nodeName });
      if (renamed && isProtected()) return refuse(renamed);
      const cluster = await untilAnswered(() => readCluster(client, signal), log, signal);
      if (signal.aborted) return false;
      if (!cluster) {
        log.warn(
          "may not read the namespace kube-system: a change of the cluster is not noticed; " +
            "update the roles with `nckubelet manifests | kubectl apply -f -`",
        );
      }
      const change = nodeChange(before, { node: nodeName, cluster });
      if (change && isProtected()) return refuse(change);
      if (change) log.info(`${change}: accepted`);
      await save(stateDir, before, { ...nextRecord(before, { node: nodeName, cluster }), id: state }, log);
      return true;
    },
    onStanding(standing) {
      if (standing.kind === "unknown") return;
      if (standing.kind === "free") return gate.open();
      const { holder, renews } = standing;
      const lease = `the Lease ${leaseNamespace}/${agentLease(nodeName)}`;
      const why = renews
        ? `another agent, ${holder}, renews ${lease}: two machines have the node name ${nodeName}. This agent takes no ` +
          "apps from the API server until that Lease expires; give one of the machines another --node-name"
        : `another agent, ${holder}, has written ${lease}: waiting until it expires, in case that agent still runs`;
      if (gate.why !== why) log.warn(why);
      gate.close(why);
    },
  };
}

async function thisProcess(bootId: string): Promise<Pick<AgentIdentity, "boot" | "process" | "isRunning">> {
  const [namespace, stat] = await Promise.all([
    readlink("/proc/self/ns/pid").catch(() => ""),
    readFile("/proc/self/stat", "utf8"),
  ]);
  const own = parseStat(stat);
  return {
    boot: createHash("sha256").update(bootId + namespace).digest("hex").slice(0, 8),
    process: `${own?.pid}-${own?.startTime}`,
    isRunning(process) {
      const [pid, startTime = ""] = process.split("-");
      return isAlive({ pid: Number(pid), startTime });
    },
  };
}

async function save(stateDir: string, before: NodeRecord | undefined, next: NodeRecord, log: Logger) {
  if (JSON.stringify(before) === JSON.stringify(next)) return;
  await writeNodeRecord(stateDir, next)
    .catch((error) => log.warn("cannot record the name of the node", { error }));
}

/** Repeats a request until the server answers it. */
async function untilAnswered<T>(
  ask: () => Promise<T>,
  log: Logger,
  signal: AbortSignal,
): Promise<T | undefined> {
  const backoff = createBackoff({ initialMs: 500, maxMs: 4000, jitter: 0.5 });
  while (!signal.aborted) {
    try {
      return await ask();
    } catch (error) {
      // The source reports that the server does not answer.
      log.debug("cannot read the namespace kube-system; trying again", { error });
      await sleep(backoff.next(), signal);
    }
  }
}

/** Reads what the decision about a request depends on, and writes the answer. */
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { agentLease, agentNamespace, claimName, leaseNamespace, refusedNodes } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { objectsOf } from "../kube/guarded-write.ts";
import { isOutdated } from "../kube/kube-error.ts";
import type { ObjectStore } from "../kube/object-store.ts";
import { certificateRequests, configMaps, leases, namespaces, nodes } from "../kube/resources.ts";
import type { KubeObject } from "../kube/wire.ts";
import { canonicalAddress } from "../lib/x509/x509.ts";
import type { Logger } from "../lib/log.ts";
import { isoSeconds } from "../lib/time.ts";
import { makerOf, type Node } from "../node/node-object.ts";
import { decide, readRequest, type Verdict, type Wanted, type World } from "./decide.ts";
import { readServerNames } from "./server-names.ts";
import {
  claimedAt,
  type ClaimObject,
  newClaim,
  nodeOfClaim,
  pendingMs,
  type RequestObject,
  slimRequest,
} from "./types.ts";

export interface AnswerParts {
  client: KubeClient;
  log: Logger;
  /** Every Node by its name. */
  known: ReadonlyMap<string, KnownNode>;
  requests: ObjectStore<RequestObject>;
  claims: ObjectStore<ClaimObject>;
  signal: AbortSignal;
}

export interface KnownNode {
  uid: string;
  /** Names and addresses, as the Node lists them. */
  names: readonly string[];
  maker: "agent" | "kubelet" | "other";
}

export interface Answers {
  /** Decides, and writes it down. Throws a KubeError; the next call decides again. */
  answer(request: RequestObject): Promise<void>;
  /** Records which Node came of a claim. */
  bind(claim: ClaimObject, uid: string): Promise<void>;
  /** Refuses every write to the agent of a node, for a reason, or no longer. */
  refuse(node: string, reason: string | null): Promise<void>;
  /** Deletes a claim of which no node came, unless its agent lives. */
  release(claim: ClaimObject): Promise<boolean>;
  /** Deletes a request that is over. */
  remove(request: RequestObject): Promise<void>;
}

export function createAnswers({ client, log, known, requests, claims, signal }: AnswerParts): Answers {
  const objects = {
    requests: objectsOf<RequestObject>(client, certificateRequests, { signal }),
    claims: objectsOf<ClaimObject>(client, configMaps, { signal }),
    nodes: objectsOf<Node>(client, nodes, { signal }),
    leases: objectsOf<KubeObject>(client, leases, { signal }),
    namespaces: objectsOf<KubeObject>(client, namespaces, { signal }),
  };

  /** Returns the namespaces in which Services could have these names: `web.team`, or `db-0.db.team`. */
  const namespacesOf = async (names: readonly string[]) => {
    const ends = names.filter((name) => name.includes(".") && !isIP(name)).map(lastLabel);
    const found = await Promise.all([...new Set(ends)].map((name) => objects.namespaces.read({ name })));
    return found.map((namespace) => namespace?.metadata.name);
  };

  const look = async ({ kind, node: name, request }: Wanted): Promise<World & { claimed?: ClaimObject }> => {
    const [node, lease, claimed, servers, taken] = await Promise.all([
      objects.nodes.read({ name }),
      leaseOf(name),
      objects.claims.read({ namespace: agentNamespace, name: claimName(name) }),
      kind === "serving" ? readServerNames(client, signal) : new Array<string>(),
      namespacesOf(kind === "serving" ? request.names : []),
    ]);
    return {
      node: node && { uid: node.metadata.uid, names: namesOf(node), ofAgent: makerOf(node) !== "kubelet" },
      lease,
      claim: claimed && {
        key: claimed.data?.key,
        nodeUid: claimed.data?.node,
        isInvited: claimed.data?.invited === "true",
      },
      pending: [...claims.values()].filter((claim) => isPending(claim, known)).length,
      claimed,
      holderOf(wanted) {
        if (servers.includes(wanted)) return "belongs to the API server";
        if (!isIP(wanted) && wanted.includes(".")) {
          const end = lastLabel(wanted);
          if (taken.includes(end)) return `could be that of a Service in the namespace ${end}`;
          // Then the API server does not show which names it has.
          if (client.access.proxy && wanted !== name) {
            return "could be that of the API server, which this controller reaches through a proxy";
          }
        }
        const own = namedIn(claimed);
        const isHeld = ([other, node]: [string, KnownNode]) =>
          other !== name && (other === wanted || node.names.includes(wanted) &&
              isEarlier(wanted, node, namedIn(claims.get(claimName(other))), own));
        const [holder] = [...known].find(isHeld) ?? [];
        return holder && `belongs to the Node ${holder}`;
      },
    };
  };

  const leaseOf = async (node: string) => {
    const names = [agentLease(node), node];
    const found = await Promise.all(
      names.map((name) => objects.leases.read({ namespace: leaseNamespace, name })),
    );
    return names.find((_, index) => found[index]);
  };

  /** A claim for another Node than the current one starts again. */
  const claim = async (
    node: string,
    { key, isInvited }: { key: string; isInvited: boolean },
    { claimed, node: current }: Awaited<ReturnType<typeof look>>,
  ) => {
    const fresh = { key, since: isoSeconds(Date.now()), ...(isInvited ? { invited: "true" } : {}) };
    if (!claimed) claims.apply(await objects.claims.create(newClaim(node, fresh)));
    else if (
      claimed.data?.key !== key || claimed.data.node !== undefined && claimed.data.node !== current?.uid
    ) {
      const none = { invited: null, node: null, names: null, namedAt: null };
      claims.apply(await objects.claims.patch(claimed.metadata, { data: { ...none, ...fresh } }));
    }
  };

  /** What other nodes may not have from now on. */
  const recordNames = async (names: readonly string[], { claimed }: Awaited<ReturnType<typeof look>>) => {
    if (!claimed?.data?.key) return;
    const data = { names: names.join(" "), namedAt: isoSeconds(Date.now()) };
    claims.apply(await objects.claims.patch(claimed.metadata, { data }));
  };

  return {
    async answer(request) {
      const { metadata, spec: { username = "", groups = [], usages = [], ...spec } } = request;
      const text = Buffer.from(spec.request, "base64").toString("latin1");
      const wanted = readRequest({ ...spec, username, groups, usages, request: text });
      let verdict: Verdict;
      if ("deny" in wanted) verdict = wanted;
      else {
        const world = await look(wanted);
        verdict = decide(wanted, world);
        if ("approve" in verdict) {
          if (verdict.claim) await claim(wanted.node, verdict.claim, world);
          else await recordNames(wanted.request.names, world);
        }
      }
      const condition = "deny" in verdict
        ? { type: "Denied", ...verdict.deny }
        : { type: "Approved", reason: "AgentCertificate", message: "approved by nckubelet controller" };
      const conditions = [{ ...condition, status: "True" }];
      const ref = { ...metadata, subresource: "approval" };
      requests.applyAnswer(slimRequest(await objects.requests.patch(ref, { status: { conditions } })));
      const { type, message } = condition;
      const fields = { request: metadata.name, requester: username, signer: spec.signerName };
      if (type === "Denied") log.warn("denied a certificate", { ...fields, why: message });
      else log.info("approved a certificate", fields);
    },
    async bind(claim, uid) {
      claims.applyAnswer(await objects.claims.patch(claim.metadata, { data: { node: uid } }));
    },
    async refuse(node, reason) {
      const ref = { namespace: agentNamespace, name: refusedNodes };
      const list = await objects.claims.read(ref);
      const data = { [node]: reason };
      if (list) claims.applyAnswer(await objects.claims.patch(list.metadata, { data }));
      else if (reason !== null) {
        const body = { apiVersion: "v1", kind: "ConfigMap", metadata: ref, data } as KubeObject;
        claims.applyAnswer(await objects.claims.create(body));
      }
      log.warn(reason === null ? "a node is no longer refused" : "a node is refused", { node, why: reason });
    },
    async release(claim) {
      const { metadata: { name, uid, resourceVersion }, data } = claim;
      const node = nodeOfClaim(claim)!;
      if (await objects.nodes.read({ name: node }) || await leaseOf(node)) return false;
      await objects.claims.remove({ namespace: agentNamespace, name, uid, resourceVersion });
      claims.forget({ key: name, uid });
      log.info("released the name of a node that does not exist", { node, key: data?.key });
      return true;
    },
    async remove({ metadata }) {
      const { name, uid } = metadata;
      await objects.requests.remove({ name, uid }).catch((error) => {
        // kube-controller-manager cleans up too.
        if (!isOutdated(error)) throw error;
      });
      requests.forget({ key: name, uid });
    },
  };
}

/** Older ones without a Node are those of agents that register none. */
function isPending(claim: ClaimObject, known: ReadonlyMap<string, unknown>): boolean {
  return claim.data?.key !== undefined && !known.has(nodeOfClaim(claim) ?? "") &&
    Date.now() - claimedAt(claim) < pendingMs;
}

/** The names in the last serving certificate of a claim's node. */
function namedIn(claim: ClaimObject | undefined): { names: string[]; at: string } | undefined {
  const { names, namedAt: at = "" } = claim?.data ?? {};
  return names === undefined ? undefined : { names: names.split(" "), at };
}

/**
 * Reports whether another Node that lists a name had it before the one that wants it. Nodes of agents list what they like: what counts is
 * what they got a certificate for, and of two that did, the later one, since the earlier did not list the name then.
 */
function isEarlier(
  name: string,
  { maker }: KnownNode,
  theirs: ReturnType<typeof namedIn>,
  own: ReturnType<typeof namedIn>,
): boolean {
  if (maker === "kubelet") return true;
  const isOwn = own?.names.includes(name) ?? false;
  if (!theirs) return !isOwn;
  return theirs.names.includes(name) && !(isOwn && own!.at > theirs.at);
}

function lastLabel(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** Returns the addresses of a Node, names and IP addresses. */
export function namesOf({ status }: Node): string[] {
  return (status?.addresses ?? []).map(({ address }) => canonicalAddress(address));
}

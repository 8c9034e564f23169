/** Reads what the decision about a request depends on, and writes the answer. */
import { Buffer } from "node:buffer";
import { agentLease, agentNamespace, claimName, leaseNamespace } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { objectsOf } from "../kube/guarded-write.ts";
import { isOutdated } from "../kube/kube-error.ts";
import type { ObjectStore } from "../kube/object-store.ts";
import { certificateRequests, configMaps, leases, nodes } from "../kube/resources.ts";
import type { KubeObject } from "../kube/wire.ts";
import { canonicalAddress } from "../lib/x509/x509.ts";
import type { Logger } from "../lib/log.ts";
import { type Node, ownerOf } from "../node/node-object.ts";
import { decide, readRequest, type Verdict, type Wanted, type World } from "./decide.ts";
import { readServerNames } from "./server-names.ts";
import { type ClaimObject, newClaim, type RequestObject, slimRequest } from "./types.ts";

export interface AnswerParts {
  client: KubeClient;
  log: Logger;
  /** Every Node by its name. */
  known: ReadonlyMap<string, { names: readonly string[] }>;
  requests: ObjectStore<RequestObject>;
  claims: ObjectStore<ClaimObject>;
  signal: AbortSignal;
}

export interface Answers {
  /** Decides, and writes it down. Throws a KubeError; the next call decides again. */
  answer(request: RequestObject): Promise<void>;
  /** Records which Node came of a claim. */
  bind(claim: ClaimObject, uid: string): Promise<void>;
  /** Deletes a request that is over. */
  remove(request: RequestObject): Promise<void>;
}

export function createAnswers({ client, log, known, requests, claims, signal }: AnswerParts): Answers {
  const objects = {
    requests: objectsOf<RequestObject>(client, certificateRequests, { signal }),
    claims: objectsOf<ClaimObject>(client, configMaps, { signal }),
    nodes: objectsOf<Node>(client, nodes, { signal }),
    leases: objectsOf<KubeObject>(client, leases, { signal }),
  };

  const look = async ({ kind, node: name }: Wanted): Promise<World & { claimed?: ClaimObject }> => {
    const [node, lease, claimed, servers] = await Promise.all([
      objects.nodes.read({ name }),
      objects.leases.read({ namespace: leaseNamespace, name: agentLease(name) }),
      objects.claims.read({ namespace: agentNamespace, name: claimName(name) }),
      kind === "serving" ? readServerNames(client, signal) : new Array<string>(),
    ]);
    return {
      node: node && { uid: node.metadata.uid, names: namesOf(node), ofAgent: ownerOf(node) === "agent" },
      hasLease: lease !== undefined,
      claim: claimed && { key: claimed.data?.key, nodeUid: claimed.data?.node },
      claimed,
      holderOf(wanted) {
        if (servers.includes(wanted)) return "belongs to the API server";
        const isHeld = ([other, { names }]: [string, { names: readonly string[] }]) =>
          other !== name && (other === wanted || names.includes(wanted));
        const [holder] = [...known].find(isHeld) ?? [];
        return holder && `belongs to the Node ${holder}`;
      },
    };
  };

  /** A claim for another Node than the current one starts again. */
  const claim = async (
    node: string,
    key: string,
    { claimed, node: current }: Awaited<ReturnType<typeof look>>,
  ) => {
    if (!claimed) claims.apply(await objects.claims.create(newClaim(node, key)));
    else if (
      claimed.data?.key !== key || claimed.data.node !== undefined && claimed.data.node !== current?.uid
    ) {
      claims.apply(await objects.claims.patch(claimed.metadata, { data: { key, node: null } }));
    }
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
        if ("claim" in verdict && verdict.claim) await claim(wanted.node, verdict.claim.key, world);
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

/** Returns the addresses of a Node, names and IP addresses. */
export function namesOf({ status }: Node): string[] {
  return (status?.addresses ?? []).map(({ address }) => canonicalAddress(address));
}

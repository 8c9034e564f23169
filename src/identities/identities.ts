/**
 * The identities controller: approves the certificates of agents, denies what they may not have, and lets agents read the Secrets of
 * their apps.
 *
 * It follows the requests of agents and of nodes that want to become one, and acts while it leads: `decide.ts` decides, `answer.ts`
 * reads what the decision depends on, and writes. kube-controller-manager signs what is approved. `grants.ts` decides which Secrets,
 * `grant-objects.ts` has the Roles with their names, `known-grants.ts` follows apps and Roles, and `write-grants.ts` writes.
 *
 * Guarantees: a decision depends on what the API server has at that moment, not on a watch. The claim of a name is written before the
 * approval, and only one of two requests for it succeeds. A controller that is killed at any point leaves requests undecided, or a
 * claim whose key gets its certificate with the next request. Requests of others are not touched.
 */
import { agentNamespace, claimName, refusedNodes } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Controller } from "../kube/controller.ts";
import { createFollowers, eachOf, type Hub } from "../kube/follower.ts";
import type { Leadership } from "../kube/leader.ts";
import { ObjectStore } from "../kube/object-store.ts";
import { certificateRequests, configMaps, nodes } from "../kube/resources.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { makerOf, type Node } from "../node/node-object.ts";
import { systemClock } from "../report/clock.ts";
import { createKeyedWriter } from "../report/keyed-writer.ts";
import { type Answers, createAnswers, type KnownNode, namesOf } from "./answer.ts";
import { isOfAgent } from "./decide.ts";
import { createGrants } from "./write-grants.ts";
import {
  claimedAt,
  type ClaimObject,
  nodeOfClaim,
  pendingMs,
  type RefusedNodes,
  type RequestObject,
  slimRequest,
} from "./types.ts";

export interface IdentitiesOptions {
  client: KubeClient;
  log: Logger;
  hub: Hub;
  /** How long a decided request stays, for its requester to read. */
  keepMs?: number;
}

/** In the list of refused nodes; what administrators write there has other words, and stays. */
export const ofKubelet = "a kubelet made the Node of this name";

type Key = `request/${string}` | `node/${string}`;

export function createIdentitiesController(options: IdentitiesOptions): Controller {
  const { client, log, hub, keepMs = 600_000 } = options;
  const clock = systemClock;
  /** Tells the leader's queue that something may be due. */
  let onKey: (key: Key) => void = () => {};
  const idOf = ({ metadata }: RequestObject | ClaimObject) => ({ ...metadata, key: metadata.name });
  const requests = new ObjectStore<RequestObject>({
    idOf,
    onChange: (now, before) => onKey(`request/${(now ?? before)!.metadata.name}`),
  });
  const claims = new ObjectStore<ClaimObject>({
    idOf,
    onChange: (now, before) => {
      const node = nodeOfClaim((now ?? before)!);
      if (node !== undefined) return onKey(`node/${node}`);
      // The list of refused nodes.
      for (const claim of claims.values()) onKey(`node/${nodeOfClaim(claim) ?? ""}`);
    },
  });
  const known = new Map<string, KnownNode>();
  const followers = createFollowers(hub);
  followers.follow<RequestObject>({
    resource: certificateRequests,
    options: { filter: isOwn, slim: slimRequest },
    ...into(requests),
  });
  followers.follow<ClaimObject>({
    resource: configMaps,
    options: {
      namespace: agentNamespace,
      filter: (map) => nodeOfClaim(map) !== undefined || map.metadata.name === refusedNodes,
    },
    ...into(claims),
  });
  followers.follow<Node>({
    resource: nodes,
    ...eachOf<Node>((node) => {
      const { name = "", uid = "" } = node.metadata ?? {};
      const [before, maker] = [known.get(name), makerOf(node)];
      known.set(name, { uid, names: namesOf(node), maker });
      if (before?.uid !== uid || before.maker !== maker) onKey(`node/${name}`);
    }, ({ metadata }) => {
      const { name = "" } = metadata ?? {};
      known.delete(name);
      onKey(`node/${name}`);
    }),
  });

  // Approvals do not wait for what these need.
  const grantFollowers = createFollowers(hub);
  const writeGrants = createGrants({ client, log, followers: grantFollowers });

  const claimOf = (node: string) => claims.get(claimName(node));
  /** When to look again at the claims of agents that live without a Node. */
  const keptUntil = new Map<string, number>();
  /** What a node and its claim need next. */
  const stepFor = (
    node: string,
  ): { kind: "bind" | "refuse" | "accept" | "release"; at: number } | undefined => {
    const [claim, made] = [claimOf(node), known.get(node)];
    if (!claim) return undefined;
    const { data: { key, invited, node: uid } = {} } = claim;
    const isInvited = key === undefined || invited === "true";
    const refused = (claims.get(refusedNodes) as RefusedNodes | undefined)?.data?.[node];
    const at = clock.now();
    if (isInvited && refused === ofKubelet) return { kind: "accept", at };
    const isBound = made !== undefined && uid !== undefined && (uid === made.uid || made.maker !== "kubelet");
    if (key === undefined || isBound) return undefined;
    if (made?.maker === "agent" || made && isInvited) return { kind: "bind", at };
    if (made) return made.maker === "kubelet" && refused === undefined ? { kind: "refuse", at } : undefined;
    const expired = at + Math.max(0, claimedAt(claim) + pendingMs - clock.wall());
    return { kind: "release", at: Math.max(expired, keptUntil.get(node) ?? 0) };
  };
  /** When a key needs work, in the time of the clock; undefined for never. */
  const dueAt = (key: Key): number | undefined => {
    const [kind, name = ""] = key.split("/", 2);
    if (kind === "node") return stepFor(name)?.at;
    const request = requests.get(name);
    if (!request) return undefined;
    const decided = decidedAt(request);
    if (decided === undefined) return clock.now();
    return decided === Infinity ? undefined : clock.now() + Math.max(0, decided + keepMs - clock.wall());
  };

  const answerRequests = async ({ signal, isLeader }: Leadership) => {
    while (!followers.ready && !signal.aborted) await sleep(50, signal);
    if (signal.aborted) return;
    const answers = createAnswers({ client, log, known, requests, claims, signal });
    const queue = createKeyedWriter<Key>({
      what: "certificate requests",
      log,
      maxInFlight: 4,
      clock,
      due: (key) => {
        const at = dueAt(key);
        return at === undefined ? undefined : { at, urgent: true };
      },
      async write(key) {
        if (!isLeader() || signal.aborted) return "skipped";
        const [kind, name = ""] = key.split("/", 2);
        if (kind === "node") return await perform(answers, name);
        const request = requests.get(name)!;
        await (decidedAt(request) === undefined ? answers.answer(request) : answers.remove(request));
      },
    });
    onKey = queue.scheduleSeen;
    for (const { metadata } of requests.values()) onKey(`request/${metadata.name}`);
    for (const claim of claims.values()) onKey(`node/${nodeOfClaim(claim) ?? ""}`);
    try {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    } finally {
      onKey = () => {};
      queue.close();
    }
  };

  const perform = async (answers: Answers, node: string) => {
    const [step, claim] = [stepFor(node), claimOf(node)];
    if (!step || !claim || step.at > clock.now()) return "skipped";
    if (step.kind === "bind") await answers.bind(claim, known.get(node)!.uid);
    else if (step.kind === "release") {
      if (await answers.release(claim)) keptUntil.delete(node);
      else keptUntil.set(node, clock.now() + pendingMs);
    } else await answers.refuse(node, step.kind === "refuse" ? ofKubelet : null);
  };

  const isPending = (request: RequestObject) => decidedAt(request) === undefined;
  return {
    name: "identities",
    follow: (signal) => followers.run(signal),
    lead: (leadership) => Promise.all([answerRequests(leadership), writeGrants(leadership)]).then(() => {}),
    followers: () => [...followers.states, ...grantFollowers.states],
    metrics: async () => "",
    status: () => ({ certificateRequests: [...requests.values()].filter(isPending).length }),
  };
}

function into<T extends RequestObject | ClaimObject>(store: ObjectStore<T>) {
  return {
    replace: (items: T[], rewound: boolean, version: string) => store.replace(items, version, { rewound }),
    apply: (object: T) => store.apply(object),
    remove: ({ metadata }: T) => store.remove({ key: metadata.name, uid: metadata.uid }),
  };
}

function isOwn({ spec: { signerName, username = "", groups = [] } }: RequestObject): boolean {
  return isOfAgent({ signerName, username, groups });
}

/** When a request was decided, by whomever; undefined if it still waits. An approved one is not over before it has its certificate. */
function decidedAt({ metadata, status }: RequestObject): number | undefined {
  const conditions = status?.conditions ?? [];
  if (conditions.length === 0) return undefined;
  const isOver = Boolean(status?.certificate) || conditions.some(({ type }) => type !== "Approved");
  const at = Date.parse(conditions.at(-1)?.lastUpdateTime ?? metadata.creationTimestamp ?? "");
  return isOver && at || Infinity;
}

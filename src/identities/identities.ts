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
import { agentNamespace } from "../api/names.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Controller } from "../kube/controller.ts";
import { createFollowers, eachOf, type Hub } from "../kube/follower.ts";
import type { Leadership } from "../kube/leader.ts";
import { ObjectStore } from "../kube/object-store.ts";
import { certificateRequests, configMaps, nodes } from "../kube/resources.ts";
import type { Logger } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import type { Node } from "../node/node-object.ts";
import { systemClock } from "../report/clock.ts";
import { createKeyedWriter } from "../report/keyed-writer.ts";
import { createAnswers, namesOf } from "./answer.ts";
import { isOfAgent } from "./decide.ts";
import { createGrants } from "./write-grants.ts";
import { type ClaimObject, nodeOfClaim, type RequestObject, slimRequest } from "./types.ts";

export interface IdentitiesOptions {
  client: KubeClient;
  log: Logger;
  hub: Hub;
  /** How long a decided request stays, for its requester to read. */
  keepMs?: number;
}

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
    onChange: (now, before) => onKey(`node/${nodeOfClaim((now ?? before)!)}`),
  });
  /** The uid, names and addresses of every Node. */
  const known = new Map<string, { uid: string; names: string[] }>();
  const followers = createFollowers(hub);
  followers.follow<RequestObject>({
    resource: certificateRequests,
    options: { filter: isOwn, slim: slimRequest },
    ...into(requests),
  });
  followers.follow<ClaimObject>({
    resource: configMaps,
    options: { namespace: agentNamespace, filter: (claim) => nodeOfClaim(claim) !== undefined },
    ...into(claims),
  });
  followers.follow<Node>({
    resource: nodes,
    ...eachOf<Node>((node) => {
      const { name = "", uid = "" } = node.metadata ?? {};
      const isNew = known.get(name)?.uid !== uid;
      known.set(name, { uid, names: namesOf(node) });
      if (isNew) onKey(`node/${name}`);
    }, ({ metadata }) => void known.delete(metadata?.name ?? "")),
  });

  // Approvals do not wait for what these need.
  const grantFollowers = createFollowers(hub);
  const writeGrants = createGrants({ client, log, followers: grantFollowers });

  const claimOf = (node: string) => claims.get(`nckubelet-${node}`);
  /** When a key needs work, in the time of the clock; undefined for never. */
  const dueAt = (key: Key): number | undefined => {
    const [kind, name = ""] = key.split("/", 2);
    if (kind === "node") {
      const claim = claimOf(name);
      return claim?.data?.key && !claim.data.node && known.has(name) ? clock.now() : undefined;
    }
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
        if (kind === "node") return await answers.bind(claimOf(name)!, known.get(name)!.uid);
        const request = requests.get(name)!;
        await (decidedAt(request) === undefined ? answers.answer(request) : answers.remove(request));
      },
    });
    onKey = queue.scheduleSeen;
    for (const { metadata } of requests.values()) onKey(`request/${metadata.name}`);
    for (const claim of claims.values()) onKey(`node/${nodeOfClaim(claim)}`);
    try {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    } finally {
      onKey = () => {};
      queue.close();
    }
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

/**
 * Decides whether a request for a certificate is what an agent may have. Pure.
 *
 * A node's name belongs to the key that first got a certificate for it: the claim records it, and the Node that came of it. With that
 * key the name can be had again by certificate or bootstrap token, with another it is taken. A claim whose Node was deleted is void.
 */
import { isIP } from "node:net";
import {
  agentGroup,
  agentNamespace,
  agentUser,
  bootstrapGroup,
  claimName,
  clientSigner,
  isHostOf,
  nodeNameProblem,
  nodeOfAgent,
  servingGroup,
  servingSigner,
  servingUser,
} from "../api/names.ts";
import { isOfNoMachine } from "../lib/special-addresses.ts";
import { canonicalAddress, parseCertificateRequest, type ParsedRequest } from "../lib/x509/x509.ts";

/** What the API server knows of a request; it sets username and groups itself. */
export interface CertificateRequest {
  signerName: string;
  username: string;
  groups: readonly string[];
  usages: readonly string[];
  /** PEM. */
  request: string;
}

/** What was read for the decision. */
export interface World {
  /** The Node of the requested name. `names` are its names and addresses; `ofAgent`: no kubelet made it. */
  node?: { uid: string; names: readonly string[]; ofAgent: boolean };
  /** The Lease of that name, of an agent or a kubelet; undefined if there is none. */
  lease?: string;
  /** Without a key it is an invitation: the next one who asks gets the name. */
  claim?: { key?: string; nodeUid?: string; isInvited?: boolean };
  /** How many claims have a key and no Node. */
  pending: number;
  /** Says what else has a name or an address, such as `the Node "b"`. */
  holderOf(name: string): string | undefined;
}

export interface Denial {
  reason:
    | "Malformed"
    | "WrongSubject"
    | "WrongUsages"
    | "WrongRequester"
    | "NameTaken"
    | "TooManyNames"
    | "NodeDeleted"
    | "WrongNames";
  message: string;
}

/** A well-formed request of a user who may ask for it. */
export interface Wanted {
  kind: "client" | "serving";
  node: string;
  /** How the requester authenticated. */
  by: "bootstrap token" | "certificate" | "service account";
  request: ParsedRequest;
}

/** `claim`: the record that must be there before the approval. */
export type Verdict = { approve: Wanted; claim?: { key: string; isInvited: boolean } } | { deny: Denial };

/** Who has a bootstrap token could take every name, and fill the memory of the API server. */
const mostPending = 200;

const usagesOf = {
  client: [["client auth", "digital signature"]],
  serving: [
    ["digital signature", "key encipherment", "server auth"],
    ["digital signature", "server auth"],
  ],
};

/** Reports whether agents or nodes that want to become one send such requests; all others are left to other approvers. */
export function isOfAgent(
  { signerName, username, groups }: Pick<CertificateRequest, "signerName" | "username" | "groups">,
): boolean {
  return (signerName === clientSigner || signerName === servingSigner) &&
    (groups.includes(bootstrapGroup) || nodeOfAgent(username, groups) !== undefined);
}

/** What can be said without a look at the cluster: what is wanted, or why nobody may have it. */
export function readRequest(given: CertificateRequest): Wanted | { deny: Denial } {
  const kind = given.signerName === clientSigner ? "client" : "serving";
  const { username, groups } = given;
  let request: ParsedRequest;
  try {
    request = parseCertificateRequest(given.request);
  } catch (error) {
    return deny("Malformed", (error as Error).message);
  }
  const [organization, prefix] = kind === "client"
    ? [agentGroup, agentUser("")]
    : [servingGroup, servingUser("")];
  const { commonName } = request;
  if (request.organization !== organization || !commonName.startsWith(prefix)) {
    const asked = `O=${request.organization}, CN=${commonName}`;
    return deny("WrongSubject", `the subject must be O=${organization}, CN=${prefix}NODE, not ${asked}`);
  }
  const node = commonName.slice(prefix.length);
  const problem = nodeNameProblem(node) ?? reservedName(node);
  if (problem) return deny("WrongSubject", `the node name ${JSON.stringify(node)}: ${problem}`);
  const usages = [...given.usages].sort().join(", ");
  if (!usagesOf[kind].some((expected) => expected.join(", ") === usages)) {
    return deny("WrongUsages", `the usages must be ${usagesOf[kind][0]!.join(", ")}, not ${usages}`);
  }
  const own = nodeOfAgent(username, groups);
  if (own !== undefined && own !== node) {
    return deny("WrongRequester", `the agent of node ${own} may not have a certificate of node ${node}`);
  }
  if (own === undefined && kind === "serving") {
    return deny("WrongRequester", `only the agent of node ${node} may have its serving certificate`);
  }
  const by = own === undefined
    ? "bootstrap token"
    : username.startsWith(agentUser(""))
    ? "certificate"
    : "service account";
  return { kind, node, by, request };
}

export function decide(wanted: Wanted, world: World): Verdict {
  return wanted.kind === "client" ? decideClient(wanted, world) : decideServing(wanted, world);
}

function decideClient(wanted: Wanted, { node: current, lease, claim: recorded, pending }: World): Verdict {
  const { node, by, request: { names, key } } = wanted;
  if (names.length > 0) {
    return deny("WrongNames", `a client certificate has no alternative names, not ${names.join(", ")}`);
  }
  const isVoid = recorded?.nodeUid !== undefined && recorded.nodeUid !== current?.uid;
  const claim = isVoid ? undefined : recorded;
  // An account with the name of the node is an invitation, too: administrators make it.
  const isInvited = by === "service account" ||
    recorded !== undefined &&
      (recorded.key === undefined || recorded.key === key && recorded.isInvited === true);
  const accepted = { approve: wanted, claim: { key, isInvited } };
  const isOfKubelet = current !== undefined && !current.ofAgent && claim?.nodeUid === undefined;
  if (isOfKubelet && recorded && !isInvited) {
    return deny("NameTaken", `a kubelet made the Node ${node}: use another --node-name, or ${freeing(node)}`);
  }
  if (claim && (claim.key === undefined || claim.key === key)) return accepted;
  if (claim) {
    return deny(
      "NameTaken",
      `node ${node} has a certificate with another key: use another --node-name, or ${freeing(node)}`,
    );
  }
  // Tokens of a service account stay valid whatever happens to the Node. A bootstrap token admits a machine again whose Node was
  // deleted; its old certificate may have registered another one since.
  if (by === "service account" || by === "bootstrap token" && recorded?.key === key) return accepted;
  if (by === "certificate") {
    return deny(
      "NodeDeleted",
      `the Node ${node} was deleted, so its certificate is not renewed: run nckubelet join with a new token`,
    );
  }
  if (current || lease) {
    const what = current ? `the Node ${node}` : `the Lease ${lease}`;
    return deny("NameTaken", `${what} exists: use another --node-name, or ${freeing(node)}`);
  }
  if (recorded || pending < mostPending) return accepted;
  return deny(
    "TooManyNames",
    `${pending} nodes got certificates and registered no Node; their names are free again after 24 hours, or with ` +
      `kubectl -n ${agentNamespace} delete configmap ${claimName("NODE")}`,
  );
}

function decideServing(wanted: Wanted, { node: current, claim, holderOf }: World): Verdict {
  const { node, request: { names } } = wanted;
  if (!current) return deny("NodeDeleted", `there is no Node ${node}`);
  if (!current.ofAgent) return deny("NameTaken", `a kubelet made the Node ${node}, and serves there`);
  if (claim?.nodeUid !== undefined && claim.nodeUid !== current.uid) {
    return deny(
      "NodeDeleted",
      `the Node ${node} was deleted: its agent must run nckubelet join with a new token`,
    );
  }
  if (names.length === 0) return deny("WrongNames", "a serving certificate needs alternative names");
  const allowed = [node, ...current.names].map(canonicalAddress);
  for (const name of names) {
    if (!allowed.includes(name)) {
      return deny("WrongNames", `${name} is no name or address of the Node ${node}: ${allowed.join(", ")}`);
    }
    const other = reservedName(name) ?? foreignHost(node, name) ?? holderOf(name);
    if (other) return deny("WrongNames", `${name}: ${other}`);
  }
  return { approve: wanted };
}

/**
 * Says what is wrong with a name that clients of the cluster trust in another meaning: a certificate for it, signed by the cluster's
 * authority, would let a node pose as the API server or as a Service.
 */
function reservedName(name: string): string | undefined {
  const isReserved =
    /^(?:kubernetes|localhost)(?:\.|$)|(?:^|\.)svc(?:\.|$)|\.(?:pod|localhost|cluster\.local)$/.test(name) ||
    isOfNoMachine(name);
  return isReserved ? "belongs to the API server, to Services or to no node" : undefined;
}

/** What a machine calls itself is no proof: a Node may list any host name. */
function foreignHost(node: string, name: string): string | undefined {
  return isIP(name) || isHostOf(node, name) ? undefined : `is not ${node}, with or without a domain`;
}

function freeing(node: string): string {
  return `let an administrator delete the Node, or invite it: kubectl -n ${agentNamespace} create configmap ${
    claimName(node)
  }`;
}

function deny(reason: Denial["reason"], message: string): { deny: Denial } {
  return { deny: { reason, message } };
}

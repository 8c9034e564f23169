import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import {
  type CertificateRequest,
  decide,
  isOfAgent,
  readRequest,
  type World,
} from "../../src/identities/decide.ts";
import { keyDigest } from "../../src/lib/x509/x509.ts";
import { accountOf, agentOf, clientRequest, newKeys, servingRequest } from "./requests.ts";

const keys = newKeys();
const key = keyDigest(keys.publicKey);
const empty: World = { pending: 0, holderOf: () => undefined };
const node = { uid: "1", names: ["edge-7", "10.0.0.7", "fd00::7"], ofAgent: true };
const settled: World = { ...empty, node, claim: { key, nodeUid: "1" } };
const weak = generateKeyPairSync("ec", { namedCurve: "P-384" });

/** `expected` is "approved", or the reason of the denial with a part of its message. */
const table: [what: string, request: CertificateRequest, world: World, expected: string][] = [
  ["a free name by bootstrap token", clientRequest("edge-7"), empty, "approved"],
  ["a renewal by certificate", clientRequest("edge-7", { keys, ...agentOf("edge-7") }), settled, "approved"],
  [
    "a renewal before the Node is known",
    clientRequest("edge-7", { keys, ...agentOf("edge-7") }),
    { ...empty, claim: { key } },
    "approved",
  ],
  [
    "the way back by bootstrap token and the same key",
    clientRequest("edge-7", { keys }),
    settled,
    "approved",
  ],
  [
    "the way back of a node that was deleted and has registered again",
    clientRequest("edge-7", { keys }),
    { ...settled, node: { ...node, uid: "2" } },
    "approved",
  ],
  [
    "an invitation, though the Node exists",
    clientRequest("edge-7"),
    { ...settled, claim: {} },
    "approved",
  ],
  ["a name whose Node was deleted", clientRequest("edge-7"), { ...settled, node: undefined }, "approved"],
  [
    "the agent with a service account's token",
    clientRequest("edge-7", accountOf("edge-7")),
    { ...empty, node },
    "approved",
  ],
  ["a serving certificate", servingRequest("edge-7"), settled, "approved"],
  [
    "a serving certificate without key encipherment, for IPv6",
    servingRequest("edge-7", { names: ["fd00::7"], usages: ["server auth", "digital signature"] }),
    settled,
    "approved",
  ],
  [
    "another node's name by certificate",
    clientRequest("edge-8", agentOf("edge-7")),
    empty,
    "WrongRequester: the agent of node edge-7 may not have a certificate of node edge-8",
  ],
  [
    "a name that another key has",
    clientRequest("edge-7"),
    settled,
    "NameTaken: node edge-7 has a certificate with another key",
  ],
  [
    "a renewal with another key",
    clientRequest("edge-7", agentOf("edge-7")),
    settled,
    "NameTaken: node edge-7 has a certificate with another key",
  ],
  [
    "the name of a Node without a claim, such as a kubelet's",
    clientRequest("edge-7"),
    { ...empty, node: { ...node, ofAgent: false } },
    "NameTaken: the Node edge-7 exists",
  ],
  [
    "the name of an agent that registers no Node",
    clientRequest("edge-7"),
    { ...empty, lease: "nckubelet-edge-7" },
    "NameTaken: the Lease nckubelet-edge-7 exists",
  ],
  [
    "the name of a kubelet whose Node was just deleted",
    clientRequest("edge-7"),
    { ...empty, lease: "edge-7" },
    "NameTaken: the Lease edge-7 exists",
  ],
  [
    "a renewal after a kubelet made the Node of the name",
    clientRequest("edge-7", { keys, ...agentOf("edge-7") }),
    { ...empty, node: { ...node, ofAgent: false }, claim: { key } },
    "NameTaken: a kubelet made the Node edge-7",
  ],
  [
    "the same key by bootstrap token after a kubelet made the Node of the name",
    clientRequest("edge-7", { keys }),
    { ...empty, node: { ...node, ofAgent: false }, claim: { key, nodeUid: "0", isInvited: false } },
    "NameTaken: a kubelet made the Node edge-7",
  ],
  [
    "an invitation to a kubelet's Node",
    clientRequest("edge-7"),
    { ...empty, node: { ...node, ofAgent: false }, claim: {} },
    "approved",
  ],
  [
    "a renewal on a kubelet's Node after an invitation",
    clientRequest("edge-7", { keys, ...agentOf("edge-7") }),
    { ...empty, node: { ...node, ofAgent: false }, claim: { key, isInvited: true } },
    "approved",
  ],
  [
    "an invitation that another key used",
    clientRequest("edge-7"),
    { ...empty, node: { ...node, ofAgent: false }, claim: { key: "sha256:00", isInvited: true } },
    "NameTaken: a kubelet made the Node edge-7",
  ],
  [
    "a renewal on its own Node that a kubelet took over",
    clientRequest("edge-7", { keys, ...agentOf("edge-7") }),
    { ...settled, node: { ...node, ofAgent: false } },
    "approved",
  ],
  [
    "one more name while 200 have no Node",
    clientRequest("edge-7"),
    { ...empty, pending: 200 },
    "TooManyNames: 200 nodes got certificates and registered no Node",
  ],
  [
    "a name again while 200 have no Node",
    clientRequest("edge-7", { keys }),
    { ...empty, pending: 200, claim: { key } },
    "approved",
  ],
  [
    "a renewal after the Node was deleted",
    clientRequest("edge-7", { keys, ...agentOf("edge-7") }),
    { ...settled, node: undefined },
    "NodeDeleted: the Node edge-7 was deleted",
  ],
  [
    "a renewal after the Node was deleted and registered again",
    clientRequest("edge-7", { keys, ...agentOf("edge-7") }),
    { ...settled, node: { ...node, uid: "2" } },
    "NodeDeleted: the Node edge-7 was deleted",
  ],
  [
    "another organization",
    clientRequest("edge-7", { organization: "system:masters" }),
    empty,
    "WrongSubject: the subject must be O=nckubelet:agents, CN=nckubelet:NODE, not O=system:masters",
  ],
  [
    "another user",
    clientRequest("edge-7", { commonName: "system:kube-controller-manager" }),
    empty,
    "WrongSubject: the subject must be",
  ],
  [
    "a name that collides with a Lease",
    clientRequest("nckubelet-edge-7"),
    empty,
    'WrongSubject: the node name "nckubelet-edge-7": must not begin with nckubelet-',
  ],
  [
    "a node named like the API server",
    clientRequest("kubernetes.default.svc"),
    empty,
    'WrongSubject: the node name "kubernetes.default.svc": belongs to the API server',
  ],
  ["no node name", clientRequest(""), empty, 'WrongSubject: the node name "": not a node name'],
  [
    "an alternative name in a client certificate",
    clientRequest("edge-7", { names: ["edge-7"] }),
    empty,
    "WrongNames: a client certificate has no alternative names",
  ],
  [
    "a client certificate for servers too",
    clientRequest("edge-7", { usages: ["digital signature", "client auth", "server auth"] }),
    empty,
    "WrongUsages: the usages must be client auth, digital signature, not client auth, digital signature, server auth",
  ],
  [
    "a client certificate that signs others",
    clientRequest("edge-7", { usages: ["cert sign", "client auth"] }),
    empty,
    "WrongUsages:",
  ],
  [
    "a serving certificate for clients",
    servingRequest("edge-7", { usages: ["client auth", "digital signature"] }),
    settled,
    "WrongUsages:",
  ],
  [
    "a serving certificate by bootstrap token",
    servingRequest("edge-7", { ...clientRequest("edge-7"), ...only(servingRequest("edge-7")) }),
    settled,
    "WrongRequester: only the agent of node edge-7 may have its serving certificate",
  ],
  [
    "a serving certificate of another node",
    servingRequest("edge-7", agentOf("edge-8")),
    settled,
    "WrongRequester: the agent of node edge-8",
  ],
  [
    "a serving certificate with one more name",
    servingRequest("edge-7", { names: ["edge-7", "registry.example.com"] }),
    settled,
    "WrongNames: registry.example.com is no name or address of the Node edge-7",
  ],
  [
    "a serving certificate for a Service, which the Node claims as its host name",
    servingRequest("edge-7", { names: ["kubernetes.default.svc"] }),
    { ...settled, node: { ...node, names: ["kubernetes.default.svc"] } },
    "WrongNames: kubernetes.default.svc: belongs to the API server",
  ],
  [
    "a serving certificate for the address of another Node, which the Node claims",
    servingRequest("edge-7", { names: ["10.0.0.8"] }),
    {
      ...settled,
      node: { ...node, names: ["10.0.0.8"] },
      holderOf: (name) => name === "10.0.0.8" ? "is an address of the Node edge-8" : undefined,
    },
    "WrongNames: 10.0.0.8: is an address of the Node edge-8",
  ],
  ...["Kubernetes.Default.SVC", "*", "*.example.com", "EDGE-7", "127.1"].map((
    name,
  ): [string, CertificateRequest, World, string] => [
    `a serving certificate for ${name}, which the Node claims as its host name`,
    servingRequest("edge-7", { names: [name] }),
    { ...settled, node: { ...node, names: [name] } },
    `Malformed: the alternative name "${name}" is no plain host name`,
  ]),
  ...["web", "web.monitoring", "registry.example.com", "edge-7x.example.com"].map((
    name,
  ): [string, CertificateRequest, World, string] => [
    `a serving certificate for ${name}, which the Node claims as its host name`,
    servingRequest("edge-7", { names: [name] }),
    { ...settled, node: { ...node, names: [name] } },
    `WrongNames: ${name}: is not edge-7, with or without a domain`,
  ]),
  ...["127.0.0.2", "::1", "169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "255.255.255.255"].map((
    name,
  ): [string, CertificateRequest, World, string] => [
    `a serving certificate for ${name}, which the Node claims`,
    servingRequest("edge-7", { names: [name] }),
    { ...settled, node: { ...node, names: [name] } },
    `WrongNames: ${name}: belongs to the API server, to Services or to no node`,
  ]),
  [
    "a serving certificate for the Node's name with its domain",
    servingRequest("edge-7", { names: ["edge-7", "edge-7.example.com"] }),
    { ...settled, node: { ...node, names: ["edge-7.example.com"] } },
    "approved",
  ],
  [
    "a serving certificate without names",
    servingRequest("edge-7", { names: [] }),
    settled,
    "WrongNames: a serving certificate needs alternative names",
  ],
  [
    "a serving certificate on a kubelet's Node",
    servingRequest("edge-7"),
    { ...settled, node: { ...node, ofAgent: false } },
    "NameTaken: a kubelet made the Node edge-7",
  ],
  [
    "a serving certificate of a deleted Node",
    servingRequest("edge-7"),
    { ...settled, node: { ...node, uid: "2" } },
    "NodeDeleted: the Node edge-7 was deleted",
  ],
  ["a serving certificate without a Node", servingRequest("edge-7"), empty, "NodeDeleted: there is no Node"],
  [
    "more than 4 KB",
    clientRequest("edge-7", { names: Array.from({ length: 90 }, (_, at) => `name-${at}.${"x".repeat(40)}`) }),
    empty,
    "Malformed: the request has",
  ],
  [
    "garbage",
    clientRequest("edge-7", { request: "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n" }),
    empty,
    "Malformed: the request is not one block of PEM",
  ],
  [
    "another kind of key",
    clientRequest("edge-7", { keys: weak }),
    empty,
    "Malformed: the key of the request",
  ],
];

/** Of a request, only what `agentOf` did not set. */
function only({ signerName, usages, request }: CertificateRequest) {
  return { signerName, usages, request };
}

function verdictOf(request: CertificateRequest, world: World): string {
  assert.ok(isOfAgent(request));
  const wanted = readRequest(request);
  const verdict = "deny" in wanted ? wanted : decide(wanted, world);
  return "deny" in verdict ? `${verdict.deny.reason}: ${verdict.deny.message}` : "approved";
}

for (const [what, request, world, expected] of table) {
  test(`${what}: ${expected.split(":")[0]}`, () => {
    const verdict = verdictOf(request, world);
    assert.equal(verdict.slice(0, expected.length), expected, verdict);
  });
}

test("an approved client certificate claims its name for its key, a serving certificate claims nothing", () => {
  const claimed = (request: CertificateRequest, world: World) => {
    const wanted = readRequest(request);
    assert.ok(!("deny" in wanted));
    const verdict = decide(wanted, world);
    return "claim" in verdict ? verdict.claim : undefined;
  };
  assert.deepEqual(claimed(clientRequest("edge-7", { keys }), empty), { key, isInvited: false });
  assert.deepEqual(claimed(clientRequest("edge-7", { keys }), { ...empty, claim: {} }), {
    key,
    isInvited: true,
  });
  assert.equal(claimed(servingRequest("edge-7"), settled), undefined);
});

test("requests of kubelets, of people and of other signers are left to other approvers", () => {
  const others = [
    servingRequest("edge-7", { username: "system:node:edge-7", groups: ["system:nodes"] }),
    clientRequest("edge-7", { username: "alice", groups: ["system:authenticated"] }),
    clientRequest("edge-7", { signerName: "kubernetes.io/kube-apiserver-client-kubelet" }),
    clientRequest("edge-7", { username: "nckubelet:edge-7", groups: ["nckubelet:schedulers"] }),
  ];
  for (const request of others) assert.equal(isOfAgent(request), false, JSON.stringify(request));
});

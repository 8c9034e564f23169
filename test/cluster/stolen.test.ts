/** What a stolen node can and cannot do with its key and certificate: the shipped roles and policies, on a real API server. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { after, before, test } from "node:test";
import { apiVersion, kind } from "../../src/api/names.ts";
import { appWith } from "../api/samples.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { allowPods, installCRD } from "../harness/install-crd.ts";
import { skipUnless, skipUnlessControllers } from "../harness/parts.ts";
import { clientRequest, newKeys, servingRequest } from "../identities/requests.ts";
import { waitFor } from "../wait-for.ts";

const skip = skipUnless("control-plane") || skipUnlessControllers();
const resources = new AsyncDisposableStack();
const keys = newKeys();
const merge = "application/merge-patch+json";
let cluster: Cluster;
let certificate = "";

before(async () => {
  if (skip) return;
  cluster = resources.use(
    await startControlPlane({
      controllers: [],
      prepare: installCRD,
      // The API server itself would refuse them as invalid.
      apiServerFlags: ["--allow-privileged=true"],
    }),
  );
  if (!cluster.has("selectable-fields")) return;
  await allowPods(cluster);
  const name = "stolen";
  await cluster.apply(csr(name, clientRequest("node-a", { keys })));
  await cluster.kubectl(["certificate", "approve", name]);
  certificate = await waitFor("the certificate", async () => {
    type Signed = { status?: { certificate?: string } };
    const { status } = await cluster.get<Signed>(`${requests}/${name}`);
    return status?.certificate && Buffer.from(status.certificate, "base64").toString();
  });
  await setUp();
});

after(() => resources.disposeAsync());

const core = "/api/v1";
const inDefault = `${core}/namespaces/default`;
const apps = "/apis/app.example.com/v1alpha1/namespaces/default";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";

const meta = (name: string, more: object = {}) => ({ metadata: { name, ...more } });
const taint = { key: "app.example.com/nckubelet", effect: "NoSchedule" };
const ownMark = { "app.example.com/registered-by": "nckubelet" };
const node = (name: string) => ({
  apiVersion: "v1",
  kind: "Node",
  ...meta(name, { annotations: ownMark }),
  spec: { taints: [taint] },
});
const lease = (name: string) => ({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", ...meta(name) });
const owner = { apiVersion, kind, name: "on-node-a", uid: "1", controller: true };
const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  ...meta(name, {
    annotations: { "kubernetes.io/config.mirror": "x" },
    ownerReferences: [owner],
    ...metadata,
  }),
  spec: { nodeName: "node-a", containers: [{ name: "app", image: "nckubelet/script" }], ...spec },
});
const container = (more: object) => ({ containers: [{ name: "app", image: "x", ...more }] });
const event = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Event",
  ...meta(name, { namespace: "default" }),
  involvedObject: { apiVersion, kind, namespace: "default", name: "on-node-a" },
  source: { component: "nckubelet", host: "node-a" },
  reportingComponent: "nckubelet",
  reportingInstance: "node-a",
  reason: "Started",
  message: "is well",
  type: "Normal",
  ...more,
});
const csr = (name: string, { signerName, usages, request }: ReturnType<typeof clientRequest>) => ({
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  ...meta(name),
  spec: { signerName, usages, request: Buffer.from(request).toString("base64") },
});
const binding = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  ...meta("mine"),
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "User", name: "nckubelet:node-a", apiGroup: "rbac.authorization.k8s.io" }],
};
const approval = {
  status: { conditions: [{ type: "Approved", status: "True", reason: "x", message: "x" }] },
};

/** What others have. */
async function setUp() {
  await cluster.apply(node("node-b"));
  for (const at of ["node-a", "node-b"]) await cluster.apply(appWith({ nodeName: at }, { name: `on-${at}` }));
  await cluster.apply({ ...lease("node-b"), metadata: { name: "node-b", namespace: "kube-node-lease" } });
  const namespace = "default";
  for (const at of ["node-a", "node-b"]) {
    const { spec } = pod("", { nodeName: at });
    await cluster.apply({ apiVersion: "v1", kind: "Pod", ...meta(`theirs-${at}`, { namespace }), spec });
  }
  await cluster.apply(event("theirs", { source: { component: "kubelet", host: "node-b" } }));
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    ...meta("password", { namespace }),
    stringData: { a: "b" },
  };
  await cluster.apply(secret);
  await cluster.apply(csr("theirs", clientRequest("node-b")));
}

type Request = [method: string, path: string, body?: object, headers?: Record<string, string>];

/** By certificate, as the agent. */
async function send([method, path, body, headers = {}]: Request): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const sent = httpsRequest(new URL(path, cluster.server), {
    method,
    ca: await readFile(cluster.caFile),
    cert: certificate,
    key: keys.privateKey.export({ type: "pkcs8", format: "pem" }),
    headers: { "content-type": method === "PATCH" ? merge : "application/json", ...headers },
  }, async (response) => {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    resolve({ status: response.statusCode ?? 0, text });
  });
  sent.once("error", reject);
  sent.end(body && JSON.stringify(body));
  return await promise;
}

/** For the role, nothing of this exists. */
const byRole: Request[] = [
  ["GET", `${core}/secrets`],
  ["GET", `${inDefault}/secrets`],
  ["GET", `${inDefault}/secrets/password`],
  ["GET", `${core}/namespaces/kube-system/secrets`],
  ["GET", `${core}/configmaps`],
  ["GET", `${core}/namespaces/nckubelet-agents/configmaps/nckubelet-node-b`],
  ["POST", `${core}/namespaces/nckubelet-agents/configmaps`, { ...meta("nckubelet-node-c") }],
  ["DELETE", `${core}/namespaces/nckubelet-agents/configmaps/refused-nodes`],
  ["POST", `${core}/namespaces/nckubelet-agents/serviceaccounts`, meta("node-b")],
  ["POST", `${core}/namespaces/nckubelet-agents/serviceaccounts/node-b/token`, { spec: {} }],
  ["POST", `${core}/namespaces/nckubelet/serviceaccounts/nckubelet-scheduler/token`, { spec: {} }],
  ["GET", `${core}/nodes`],
  ["DELETE", `${core}/nodes/node-b`],
  ["DELETE", `${core}/nodes/node-a`],
  ["GET", `${core}/nodes/node-b/proxy/pods`],
  ["GET", leases],
  ["DELETE", `${leases}/node-b`],
  ["POST", leases.replace("kube-node-lease", "nckubelet"), lease("nc-scheduler")],
  ["POST", `${rbac}/clusterrolebindings`, { ...binding, kind: "ClusterRoleBinding" }],
  ["POST", `${rbac}/namespaces/default/rolebindings`, { ...binding, kind: "RoleBinding" }],
  ["PATCH", `${rbac}/clusterroles/nckubelet-agent`, { rules: [] }],
  ["GET", `${rbac}/clusterroles`],
  ["PATCH", `${admission}/validatingadmissionpolicies/nckubelet-agent-nodes`, { spec: { validations: [] } }],
  ["DELETE", `${admission}/validatingadmissionpolicybindings/nckubelet-agent-nodes`],
  ["POST", `${admission}/mutatingwebhookconfigurations`, meta("mine")],
  ["POST", `${apps}/ncapps`, appWith({ nodeName: "node-b" }, { name: "mine" })],
  ["PATCH", `${apps}/ncapps/on-node-a`, { spec: { runAsUser: "root" } }],
  ["PATCH", `${apps}/ncapps/on-node-b`, { spec: { shellFile: "/evil" } }],
  ["DELETE", `${apps}/ncapps/on-node-b`],
  ["GET", `${apps}/ncappsets`],
  ["POST", `${apps}/ncappsets`, meta("mine")],
  ["GET", "/apis/apps/v1/namespaces/default/controllerrevisions"],
  ["POST", "/apis/apps/v1/namespaces/default/deployments", meta("mine")],
  ["POST", "/apis/apps/v1/namespaces/kube-system/daemonsets", meta("mine")],
  ["POST", "/apis/batch/v1/namespaces/default/jobs", meta("mine")],
  ["POST", `${inDefault}/pods/theirs-node-b/exec?command=id&stdout=true`],
  ["POST", `${inDefault}/pods/theirs-node-b/binding`, { target: { name: "node-a" } }],
  ["POST", `${inDefault}/pods/theirs-node-b/eviction`, meta("theirs-node-b")],
  ["PATCH", `${inDefault}/pods/theirs-node-b/ephemeralcontainers`, { spec: {} }],
  ["GET", `${inDefault}/pods/theirs-node-b/log`],
  ["POST", `${inDefault}/services`, meta("mine")],
  ["PATCH", `${inDefault}/endpoints/kubernetes`, { subsets: [] }],
  ["POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", meta("mine")],
  ["GET", `${core}/namespaces`],
  ["PATCH", `${core}/namespaces/default`, { metadata: { labels: { "app.example.com/pods": "true" } } }],
  ["GET", `${inDefault}/events`],
  ["DELETE", `${inDefault}/events/theirs`],
  ["GET", requests],
  ["DELETE", `${requests}/theirs`],
  ["PATCH", `${requests}/theirs/approval`, approval],
  ["GET", `${inDefault}/pods/theirs-node-b`, undefined, { "impersonate-user": "system:admin" }],
  ["GET", `${core}/persistentvolumes`],
  ["PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ncapps.app.example.com", { spec: {} }],
];

const status = { status: { phase: "Failed" } };
const patched = (name: string, change: object): Request => ["PATCH", `${core}/nodes/${name}`, change];
const address = (type: string, address: string) =>
  ["PATCH", `${core}/nodes/node-a/status`, { status: { addresses: [{ type, address }] } }] as Request;

/** The role allows it for other objects. */
const byPolicy: Request[] = [
  ["PATCH", `${apps}/ncapps/on-node-b/status`, status],
  ["PATCH", `${apps}/ncapps/on-node-a/status`, { status: { nodeName: "node-b" } }],
  ["POST", `${core}/nodes`, node("node-c")],
  patched("node-b", { metadata: { labels: { a: "b" } } }),
  ["PATCH", `${core}/nodes/node-b/status`, { status: { conditions: [{ type: "Ready", status: "False" }] } }],
  patched("node-a", { spec: { taints: [] } }),
  patched("node-a", { spec: { taints: [taint, { key: "x", effect: "NoExecute" }] } }),
  patched("node-a", { spec: { unschedulable: true } }),
  patched("node-a", { metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } } }),
  patched("node-a", { metadata: { finalizers: ["example.com/keep"] } }),
  patched("node-a", {
    metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "x", uid: "0" }] },
  }),
  ["PATCH", `${core}/nodes/node-a/status`, { status: { allocatable: { pods: "110" } } }],
  address("Hostname", "Kubernetes.Default.SVC"),
  address("Hostname", "node-b"),
  address("InternalIP", "127.0.0.1"),
  address("InternalIP", "169.254.169.254"),
  ["PATCH", `${leases}/node-b`, { spec: { holderIdentity: "node-a" } }],
  ["POST", leases, lease("nckubelet-node-b")],
  ["POST", `${inDefault}/pods`, pod("mine", { nodeName: "node-b" })],
  ["POST", `${inDefault}/pods`, pod("mine", {}, { annotations: {} })],
  ["POST", `${inDefault}/pods`, pod("mine", {}, { ownerReferences: [] })],
  ["POST", `${inDefault}/pods`, pod("mine", { hostNetwork: true })],
  ["POST", `${inDefault}/pods`, pod("mine", { volumes: [{ name: "root", hostPath: { path: "/" } }] })],
  ["POST", `${inDefault}/pods`, pod("mine", { imagePullSecrets: [{ name: "registry" }] })],
  ["POST", `${inDefault}/pods`, pod("mine", container({ securityContext: { privileged: true } }))],
  ["POST", `${inDefault}/pods`, pod("mine", container({ env: [{ name: "A", value: "b" }] }))],
  ["POST", `${core}/namespaces/kube-system/pods`, pod("mine")],
  ["POST", `${core}/namespaces/nckubelet/pods`, pod("mine")],
  ["PATCH", `${inDefault}/pods/theirs-node-b/status`, status],
  ["PATCH", `${inDefault}/pods/theirs-node-a`, { metadata: { labels: { app: "web" } } }],
  ["PATCH", `${inDefault}/pods/theirs-node-a/status`, { status: { phase: "Running" } }],
  ["DELETE", `${inDefault}/pods/theirs-node-a`],
  ["DELETE", `${inDefault}/pods/theirs-node-b`],
  ["POST", `${inDefault}/events`, event("mine", { source: { component: "nckubelet", host: "node-b" } })],
  ["POST", `${inDefault}/events`, event("mine", { source: { component: "kubelet", host: "node-a" } })],
  [
    "POST",
    `${inDefault}/events`,
    event("mine", { involvedObject: { apiVersion: "v1", kind: "Node", name: "node-b" } }),
  ],
  ["PATCH", `${inDefault}/events/theirs`, { message: "all is lost" }],
  [
    "POST",
    requests,
    csr("mine", clientRequest("node-a", { signerName: "kubernetes.io/kube-apiserver-client-kubelet" })),
  ],
  [
    "POST",
    requests,
    csr("mine", clientRequest("node-a", { names: Array.from({ length: 200 }, () => "x".repeat(50)) })),
  ],
];

/** What an agent does all day, in this order. */
const needed: Request[] = [
  ["POST", `${core}/nodes`, node("node-a")],
  ["GET", `${core}/nodes/node-a`],
  patched("node-a", { metadata: { labels: { "app.example.com/nckubelet": "true" } } }),
  ["PATCH", `${core}/nodes/node-a/status`, { status: { capacity: { cpu: "4", pods: "0" } } }],
  address("InternalIP", "10.0.0.7"),
  address("Hostname", "node-a.example.com"),
  ["POST", leases, lease("node-a")],
  ["POST", leases, lease("nckubelet-node-a")],
  ["PATCH", `${leases}/nckubelet-node-a`, { spec: { holderIdentity: "node-a" } }],
  ["GET", "/apis/app.example.com/v1alpha1/ncapps?fieldSelector=spec.nodeName%3Dnode-a"],
  ["PATCH", `${apps}/ncapps/on-node-a/status`, { status: { phase: "Running", nodeName: "node-a" } }],
  ["GET", `${core}/pods?fieldSelector=spec.nodeName%3Dnode-a`],
  ["POST", `${inDefault}/pods`, pod("shown")],
  ["PATCH", `${inDefault}/pods/shown/status`, { status: { phase: "Running" } }],
  ["DELETE", `${inDefault}/pods/shown?gracePeriodSeconds=0`],
  ["PATCH", `${inDefault}/pods/theirs-node-a/status`, status],
  ["POST", `${inDefault}/events`, event("own")],
  ["PATCH", `${inDefault}/events/own`, { count: 2 }],
  ["GET", "/apis/scheduling.k8s.io/v1/priorityclasses"],
  ["GET", `${core}/namespaces/kube-system`],
  ["GET", `${core}/namespaces/kube-system/configmaps/extension-apiserver-authentication`],
  ["POST", "/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "x" } }],
  [
    "POST",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    { spec: { user: "alice", nonResourceAttributes: { path: "/", verb: "get" } } },
  ],
  ["POST", requests, csr("renewal", clientRequest("node-a", { keys }))],
  ["POST", requests, csr("serving", servingRequest("node-a"))],
  ["GET", `${requests}/renewal`],
];

/** Returns the requests that were not answered like this, with the answers. */
async function unlike(requests: Request[], expected: (status: number, text: string) => boolean) {
  const wrong: string[] = [];
  for (const request of requests) {
    const { status, text } = await send(request);
    if (!expected(status, text)) wrong.push(`${request[0]} ${request[1]}: ${status}: ${text.slice(0, 300)}`);
  }
  return wrong;
}

test("a stolen node does what its apps need with its certificate, and nothing else", { skip }, async (t) => {
  if (!cluster.has("selectable-fields")) return t.skip("this server has no admission policies");
  // Policies come from a cache that may lag.
  const isRefused = async () => (await send(["POST", `${core}/nodes`, node("node-c")])).status === 403;
  await waitFor("the policies count", isRefused);
  assert.deepEqual(await unlike(needed, (status) => status < 300), []);
  assert.ok(byRole.length + byPolicy.length >= 60);
  const forbidden = (why: RegExp) => (status: number, text: string) =>
    status === 403 && why.test(JSON.parse(text).message);
  assert.deepEqual(await unlike(byRole, forbidden(/cannot [\w:-]+ (resource|users)/)), []);
  assert.deepEqual(await unlike(byPolicy, forbidden(/'nckubelet-agent-\w+'.* denied request: .+/)), []);
});

/** What stolen credentials cannot do: the shipped roles and admission policies on a real API server. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { buildPolicies, labelled } from "../../src/api/install/install.ts";
import {
  agentGroup,
  agentUser,
  apiVersion,
  identitiesAccount as approver,
  kind,
  quotaKeys,
  schedulerGroup,
} from "../../src/api/names.ts";
import { contentOf, grantObjects } from "../../src/identities/grant-objects.ts";
import { setSpecWith, setWith } from "../api/set-samples.ts";
import { appWith } from "../api/samples.ts";
import type { Cluster } from "../harness/cluster.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { allowPods, installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { listRights } from "../../tools/rights.ts";
import { waitFor } from "../wait-for.ts";

const controller = "nckubelet-scheduler";
const edge = agentUser("edge");
const misnamed = agentUser("nckubelet-a");
const apps = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps";
const sets = "/apis/app.example.com/v1alpha1/namespaces/default/ncappsets";
const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
const merge = "application/merge-patch+json";

describe("admission policies", { skip: skipUnless("control-plane"), timeout: 300_000 }, () => {
  const opened = new AsyncDisposableStack();
  let cluster: Cluster;
  let setUid = "";

  before(async () => {
    const others = [
      { name: edge, groups: [schedulerGroup] },
      { name: misnamed, groups: [agentGroup] },
      { name: approver, groups: [] },
    ];
    cluster = opened.use(await startControlPlane({ users: [...defaultUsers, ...others] }));
    await installCRD(cluster);
    if (!cluster.has("admission-policy")) return;
    await allowPods(cluster);
    const answer = await send("admin", "POST", sets, setWith(setSpecWith(), { name: "web" }));
    setUid = JSON.parse(answer.body).metadata.uid;
    await cluster.kubectl([
      "create",
      "clusterrolebinding",
      "edge",
      "--clusterrole=nckubelet-agent",
      `--user=${edge}`,
    ]);
    await cluster.kubectl([
      ...[
        "-n",
        "kube-node-lease",
        "create",
        "rolebinding",
        "edge",
        "--role=nckubelet-agent",
        `--user=${edge}`,
      ],
    ]);
    await cluster.kubectl([
      "create",
      "clusterrolebinding",
      "edge-pods",
      "--clusterrole=nckubelet-pods",
      `--user=${edge}`,
    ]);
    // Policies come from a cache that may lag.
    await waitFor("the policies count", async () => {
      const { status } = await send(controller, "POST", `${revisions}?dryRun=All`, revision("early", {}));
      return status === 403;
    });
  });
  after(() => opened.disposeAsync());

  const send = async (user: string, method: string, path: string, body?: object) =>
    await cluster.request(path, {
      method,
      body,
      ...(user === "admin" ? {} : { token: cluster.tokenFor(user) }),
      ...(method === "PATCH" && { contentType: merge }),
    });
  const allowed = async (...request: Parameters<typeof send>) => {
    const { status, body } = await send(...request);
    assert.ok(status < 300, `${request.slice(0, 3).join(" ")}: ${status}: ${body}`);
    return JSON.parse(body);
  };
  const refused = async (why: RegExp, ...request: Parameters<typeof send>) => {
    const { status, body } = await send(...request);
    assert.equal(status, 403, `${request.slice(0, 3).join(" ")}: ${status}: ${body}`);
    assert.match(JSON.parse(body).message, why);
  };
  const needsPolicy = (t: { skip(why: string): void }) => {
    if (cluster.has("admission-policy")) return false;
    t.skip(`API server ${cluster.version.gitVersion} has no admission policies`);
    return true;
  };

  const ofSet = () => ({
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCAppSet",
    name: "web",
    uid: setUid,
    controller: true,
  });
  const ofStatefulSet = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    name: "db",
    uid: "0",
    controller: true,
  };
  const ownLabel = { "app.example.com/revision": "1" };
  const revision = (name: string, metadata: object) => ({
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: { name, ...metadata },
    revision: 1,
    data: {},
  });

  test("each identity has the rights in docs/rights.md, and no others", async () => {
    const review = async (user: string, namespace: string) => {
      const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
      const spec = { namespace };
      const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec };
      return flatten((await allowed(user, "POST", path, body)).status.resourceRules);
    };
    const identities = [[agentUser("node-a"), agentGroup], [controller, schedulerGroup], [
      approver,
      approver,
    ]];
    const rights = listRights({ policies: cluster.has("admission-policy") });
    for (const [user = "", subject = ""] of identities) {
      const isOf = ({ kind, namespace, name }: (typeof rights)[number]["subjects"][number]) =>
        subject === (kind === "ServiceAccount" ? `system:serviceaccount:${namespace}:${name}` : name);
      for (const place of ["default", "kube-node-lease", "kube-system", "nckubelet", "nckubelet-agents"]) {
        const everyone = await review("stranger", place);
        const expected = flatten(
          rights.filter(({ subjects, namespace = place }) => subjects.some(isOf) && namespace === place)
            .map(({ rule }) => rule),
        );
        const found = (await review(user, place)).filter((right) => !everyone.includes(right));
        assert.deepEqual(found, expected.filter((right) => !everyone.includes(right)), `${user} in ${place}`);
      }
    }
  });

  test("a stolen controller cannot touch the revisions of StatefulSets", async (t) => {
    if (needsPolicy(t)) return;
    const why = /only ControllerRevisions whose one owner and controller is an NCAppSet/;
    await allowed("admin", "POST", revisions, revision("db-1", { ownerReferences: [ofStatefulSet] }));
    await allowed("admin", "POST", revisions, revision("db-2", { labels: { app: "db" } }));
    await refused(why, controller, "DELETE", `${revisions}/db-1`);
    await refused(why, controller, "DELETE", `${revisions}/db-2`);
    const asAccount = "--as=system:serviceaccount:nckubelet:nckubelet-scheduler";
    const deleted = await cluster.kubectl(["delete", "controllerrevision", "db-1", asAccount], {
      allowFail: true,
    });
    assert.match(deleted.stderr, why);
    await refused(why, controller, "PATCH", `${revisions}/db-1`, { revision: 9 });
    await refused(why, controller, "PATCH", `${revisions}/db-1`, {
      metadata: { ownerReferences: [ofSet()] },
    });
    await refused(why, controller, "PATCH", `${revisions}/db-2`, {
      metadata: { ownerReferences: [ofSet()] },
    });
    await refused(why, controller, "POST", revisions, revision("db-3", { ownerReferences: [ofStatefulSet] }));
    const both = [ofSet(), { ...ofStatefulSet, controller: false }];
    await refused(why, controller, "POST", revisions, revision("db-3", { ownerReferences: both }));
    // A StatefulSet takes what has its labels and its uid, whatever kind the owner says it is.
    const planted = { ownerReferences: [{ ...ofSet(), uid: "0" }], labels: { ...ownLabel, app: "db" } };
    await refused(/no label but/, controller, "POST", revisions, revision("db-3", planted));
    // What it needs.
    const own = { ownerReferences: [ofSet()], labels: ownLabel };
    await allowed(controller, "POST", revisions, revision("web-1", own));
    await refused(why, controller, "PATCH", `${revisions}/web-1`, {
      metadata: { ownerReferences: [ofStatefulSet] },
    });
    await refused(/no label but/, controller, "PATCH", `${revisions}/web-1`, {
      metadata: { labels: { app: "db" } },
    });
    await allowed(controller, "PATCH", `${revisions}/web-1`, { revision: 2 });
    await allowed(controller, "DELETE", `${revisions}/web-1`);
    await allowed("admin", "POST", revisions, revision("web-2", { labels: ownLabel }));
    await allowed(controller, "PATCH", `${revisions}/web-2`, { metadata: { ownerReferences: [ofSet()] } });
  });

  test("a controller deletes jobs that say when, and no other set", async (t) => {
    if (needsPolicy(t)) return;
    const job = (name: string, fields: object) =>
      allowed(
        "admin",
        "POST",
        sets,
        setWith(setSpecWith({ job: fields }, { restartPolicy: "Never" }), { name }),
      );
    await job("kept", {});
    await job("short", { ttlSecondsAfterFinished: 0 });
    const why = /may delete only an NCAppSet with job\.ttlSecondsAfterFinished/;
    await refused(why, controller, "DELETE", `${sets}/web`);
    await refused(why, controller, "DELETE", `${sets}/kept`);
    await allowed(controller, "DELETE", `${sets}/short`);
    await allowed("admin", "DELETE", `${sets}/kept`);
  });

  test("a stolen controller has no Roles, Pods, Secrets, exec and tokens", async (t) => {
    if (needsPolicy(t)) return;
    const why = /cannot \w+ resource/;
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "r" },
      rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
    };
    await refused(why, controller, "POST", "/api/v1/namespaces/default/pods", pod);
    await refused(
      why,
      controller,
      "POST",
      "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
      role,
    );
    await refused(why, controller, "GET", "/api/v1/namespaces/default/secrets");
    await refused(why, controller, "PATCH", `${sets}/web`, { spec: { paused: true } });
    // It may ask whose token it has, for its metrics, but not make one.
    await refused(why, controller, "POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {},
    });
  });

  test("a controller writes only its own keys into the status of a quota", async (t) => {
    if (needsPolicy(t)) return;
    const path = "/api/v1/namespaces/default/resourcequotas";
    const key = quotaKeys.cpuPCT;
    await allowed("admin", "POST", path, {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "all", labels: { a: "b" } },
      spec: { hard: { pods: "5", [key]: "100" } },
    });
    await allowed("admin", "PATCH", `${path}/all/status`, {
      status: { hard: { pods: "5", [key]: "100" }, used: { pods: "4", [key]: "10" } },
    });
    const status = (amounts: object) => ["PATCH", `${path}/all/status`, { status: amounts }] as const;
    const why = /only app\.example\.com\/cpuPCT and app\.example\.com\/memPCT/;
    await refused(why, controller, ...status({ used: { pods: "0" } }));
    await refused(why, controller, ...status({ used: { pods: null } }));
    await refused(why, controller, ...status({ hard: { pods: "500" } }));
    await refused(why, controller, ...status({ used: { secrets: "1" } }));
    for (
      const [field, value] of Object.entries({
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "0" }],
        finalizers: ["example.com/keep"],
        labels: { a: null },
        annotations: { a: "b" },
      })
    ) {
      const change = { metadata: { [field]: value } };
      await refused(/metadata\.\w+ of a ResourceQuota/, controller, "PATCH", `${path}/all/status`, change);
    }
    await allowed(
      controller,
      ...status({ hard: { [key]: "100" }, used: { [key]: "20", [quotaKeys.memPCT]: "1" } }),
    );
    await refused(/cannot patch/, controller, "PATCH", `${path}/all`, { spec: { hard: { pods: "500" } } });
  });

  test("a controller deletes Pods that show apps, and no others", async (t) => {
    if (needsPolicy(t)) return;
    const path = "/api/v1/namespaces/kube-public/pods";
    const pod = (name: string, metadata: object = {}) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, annotations: { "kubernetes.io/config.mirror": "x" }, ...metadata },
      spec: { nodeName: "n1", containers: [{ name: "app", image: "x" }] },
    });
    const owner = { apiVersion, kind, name: "web", uid: "0", controller: true };
    await allowed("admin", "POST", path, pod("shown", { ownerReferences: [owner] }));
    await allowed("admin", "POST", path, pod("theirs"));
    await refused(/only delete Pods.*whose controller is an NCApp/, controller, "DELETE", `${path}/theirs`);
    await refused(/cannot patch/, controller, "PATCH", `${path}/shown`, { metadata: { labels: { a: "b" } } });
    await refused(/cannot create/, controller, "POST", path, pod("mine"));
    await allowed(controller, "DELETE", `${path}/shown?gracePeriodSeconds=0`);
    await allowed("admin", "DELETE", `${path}/theirs?gracePeriodSeconds=0`);
  });

  test("a controller writes apps of sets, and binds others", async (t) => {
    if (needsPolicy(t)) return;
    const mirror = { "app.example.com/config.mirror": "n1/0123456789abcdef" };
    const app = (name: string, metadata: object = {}, spec: object = {}) =>
      appWith({ shellFile: "/opt/a.sh", ...spec }, { name, ...metadata });
    const ownerReferences = [ofSet()];
    const why = /create and delete only NCApps whose controller is an NCAppSet/;
    await refused(why, controller, "POST", apps, app("mine"));
    await refused(why, controller, "POST", apps, app("mine", { ownerReferences: [ofStatefulSet] }));
    await refused(/mirror/, controller, "POST", apps, app("mine", { ownerReferences, annotations: mirror }));
    await refused(
      /only the finalizer/,
      controller,
      "POST",
      apps,
      app("mine", { ownerReferences, finalizers: ["a.b/c"] }),
    );
    await allowed(controller, "POST", apps, app("web-1", { ownerReferences }));
    await allowed(controller, "PATCH", `${apps}/web-1`, {
      spec: { shellFile: "/opt/b.sh", env: [{ name: "A" }] },
    });

    await allowed("admin", "POST", apps, app("theirs", { finalizers: ["example.com/keep"] }));
    await refused(why, controller, "DELETE", `${apps}/theirs`);
    for (
      const spec of [{ shellFile: "/evil" }, { runAsUser: "root" }, { allowExec: true }, { args: ["x"] }]
    ) {
      await refused(/only nodeName, cpuPCT, memPCT/, controller, "PATCH", `${apps}/theirs`, { spec });
    }
    // Neither does it help to adopt the app in the same breath.
    await refused(/only nodeName, cpuPCT, memPCT/, controller, "PATCH", `${apps}/theirs`, {
      metadata: { ownerReferences },
      spec: { shellFile: "/evil" },
    });
    await refused(/only owners that are/, controller, "PATCH", `${apps}/theirs`, {
      metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "0" }] },
    });
    await refused(/only the finalizer/, controller, "PATCH", `${apps}/theirs`, {
      metadata: { finalizers: null },
    });
    await allowed(controller, "PATCH", `${apps}/theirs`, {
      metadata: { finalizers: ["example.com/keep", "app.example.com/node"] },
      spec: { nodeName: "n1", cpuPCT: "10" },
    });
    await allowed(controller, "PATCH", `${apps}/theirs`, { spec: { nodeName: null } });
    await refused(/may clear status\.nodeName/, controller, "PATCH", `${apps}/theirs/status`, {
      status: { nodeName: "n2" },
    });
    await allowed(controller, "PATCH", `${apps}/theirs/status`, {
      status: { phase: "Pending", nodeName: "" },
    });
    await allowed("admin", "PATCH", `${apps}/theirs`, { metadata: { finalizers: null } });

    await allowed("admin", "POST", apps, app("local", { annotations: mirror }, { nodeName: "n1" }));
    await refused(/mirror/, controller, "PATCH", `${apps}/local`, { metadata: { ownerReferences } });
    await refused(/mirror/, controller, "PATCH", `${apps}/local`, { spec: { nodeName: "n2" } });
    await refused(why, controller, "DELETE", `${apps}/local`);
    await allowed(controller, "DELETE", `${apps}/web-1`);
  });

  test("only the account that approves certificates writes claims of node names, and no other ConfigMaps", async (t) => {
    if (needsPolicy(t)) return;
    const path = "/api/v1/namespaces/nckubelet-agents/configmaps";
    const claim = (name: string, fields: object = {}) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      ...fields,
    });
    // An empty one would invite a stolen node to take the name.
    for (const thief of [controller, edge, agentUser("node-a")]) {
      await refused(/cannot create/, thief, "POST", path, claim("nckubelet-node-b"));
      await refused(/cannot list/, thief, "GET", path);
    }
    await allowed(approver, "POST", path, claim("nckubelet-node-b", { data: { key: "sha256:00" } }));
    await allowed(approver, "PATCH", `${path}/nckubelet-node-b`, { data: { node: "1" } });
    const why = /only ConfigMaps nckubelet-NODE in nckubelet-agents/;
    await refused(why, approver, "POST", path, claim("kube-root-ca.crt"));
    await refused(why, approver, "POST", path, claim("nckubelet-x", { data: { other: "x" } }));
    await refused(why, approver, "POST", path, claim("nckubelet-x", { binaryData: { key: "eA==" } }));
    await refused(why, approver, "PATCH", `${path}/nckubelet-node-b`, { data: { other: "x" } });
    await allowed("admin", "POST", path, claim("nckubelet-invited"));
    await refused(/delete only claims with a key/, approver, "DELETE", `${path}/nckubelet-invited`);
    await allowed(approver, "DELETE", `${path}/nckubelet-node-b`);
    await allowed(approver, "POST", path, claim("refused-nodes", { data: { "node-z": "x" } }));
    await refused(/delete only claims with a key/, approver, "DELETE", `${path}/refused-nodes`);
    await allowed("admin", "DELETE", `${path}/refused-nodes`);
    await refused(
      /cannot create/,
      approver,
      "POST",
      "/api/v1/namespaces/default/configmaps",
      claim("nckubelet-x"),
    );
    const inDefault = ["-n", "default", "create"];
    await cluster.kubectl([...inDefault, "role", "writer", "--verb=create", "--resource=configmaps"]);
    await cluster.kubectl([...inDefault, "rolebinding", "writer", "--role=writer", `--user=${approver}`]);
    await waitFor("RBAC lets it write there", async () => {
      const { body } = await send(
        approver,
        "POST",
        "/api/v1/namespaces/default/configmaps",
        claim("nckubelet-x"),
      );
      return why.test(body);
    });
  });

  test("the grants of Secrets are for agents, by name, and for nothing else", async (t) => {
    if (needsPolicy(t)) return;
    const rbac = (plural: string, namespace = "default") =>
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/${plural}`;
    const apiGroup = "rbac.authorization.k8s.io";
    const wanted = { secrets: ["db"], configMaps: ["site"] };
    const { role, binding, changes } = grantObjects("default", "node-a", wanted);
    const { name } = role.metadata;
    const [rule] = role.rules;
    const roleWith = (change: object, metadata: object = {}) => ({
      ...role,
      metadata: { ...role.metadata, namespace: undefined, ...metadata },
      rules: [{ ...rule, ...change }],
    });
    const bindingWith = (change: object, metadata: object = {}) => ({
      ...binding,
      metadata: { ...binding.metadata, namespace: undefined, ...metadata },
      ...change,
    });
    // Neither an agent nor who schedules writes any.
    for (const thief of [controller, edge, agentUser("node-a")]) {
      await refused(/cannot create/, thief, "POST", rbac("roles"), role);
      await refused(/cannot create/, thief, "POST", rbac("rolebindings"), binding);
    }
    const byName = /only get Secrets and ConfigMaps, by name/;
    for (
      const change of [
        { verbs: ["get", "list"] },
        { verbs: ["*"] },
        { resourceNames: undefined },
        { resourceNames: [] },
        { resources: ["*"] },
        { resources: ["secrets", "pods"] },
        { resources: ["pods"] },
        { resources: ["serviceaccounts/token"], verbs: ["create"] },
        { apiGroups: ["*"] },
        { apiGroups: ["", "apps"] },
      ]
    ) await refused(byName, approver, "POST", rbac("roles"), roleWith(change));
    await refused(byName, approver, "POST", rbac("roles"), {
      ...roleWith({}),
      rules: [rule, { ...rule, verbs: ["list"] }],
    });
    const noGrant = /only Roles and RoleBindings nckubelet-node-DIGEST/;
    const unmarked = /with the label app\.example\.com\/grant=true/;
    for (const other of ["admin", "nckubelet-node-", `${name}0`, `x${name}`]) {
      await refused(noGrant, approver, "POST", rbac("roles"), roleWith({}, { name: other }));
      const named = bindingWith({ roleRef: { ...binding.roleRef, name: other } }, { name: other });
      await refused(noGrant, approver, "POST", rbac("rolebindings"), named);
    }
    await refused(unmarked, approver, "POST", rbac("roles"), roleWith({}, { labels: {} }));
    await refused(unmarked, approver, "POST", rbac("rolebindings"), bindingWith({}, { labels: { x: "y" } }));
    for (const namespace of ["kube-system", "kube-public", "nckubelet", "nckubelet-agents"]) {
      await refused(noGrant, approver, "POST", rbac("roles", namespace), roleWith({}));
      await refused(noGrant, approver, "POST", rbac("rolebindings", namespace), bindingWith({}));
    }
    const clusterScope = "/apis/rbac.authorization.k8s.io/v1";
    const clusterRole = { ...roleWith({}), kind: "ClusterRole" };
    const otherRole = /only the Role with the name of the RoleBinding/;
    const bindingTo = (kind: string, name: string) => bindingWith({ roleRef: { apiGroup, kind, name } });
    // RBAC refuses it first, except for a role without rights.
    const tooMuch = /attempting to grant RBAC permissions not currently held/;
    await refused(tooMuch, approver, "POST", rbac("rolebindings"), bindingTo("ClusterRole", "cluster-admin"));
    await allowed("admin", "POST", `${clusterScope}/clusterroles`, { ...clusterRole, rules: [] });
    await refused(otherRole, approver, "POST", rbac("rolebindings"), bindingTo("ClusterRole", name));
    await allowed("admin", "POST", rbac("roles"), roleWith({}, { name: "theirs" }));
    await refused(otherRole, approver, "POST", rbac("rolebindings"), bindingTo("Role", "theirs"));
    for (
      const subject of [
        { kind: "User", apiGroup, name: "alice" },
        { kind: "User", apiGroup, name: approver },
        { kind: "Group", apiGroup, name: agentGroup },
        { kind: "Group", apiGroup, name: "nckubelet:x" },
        { kind: "ServiceAccount", namespace: "default", name: "node-a" },
      ]
    ) {
      const other = bindingWith({ subjects: [...binding.subjects, subject] });
      await refused(
        /only users nckubelet:NODE and service accounts/,
        approver,
        "POST",
        rbac("rolebindings"),
        other,
      );
    }
    await refused(/cannot create/, approver, "POST", `${clusterScope}/clusterroles`, clusterRole);
    await refused(/cannot create/, approver, "POST", `${clusterScope}/clusterrolebindings`, {
      ...bindingWith({}),
      kind: "ClusterRoleBinding",
    });

    await refused(noGrant, approver, "PATCH", `${rbac("roles")}/theirs`, { rules: role.rules });
    await refused(noGrant, approver, "DELETE", `${rbac("roles")}/theirs`);
    // What it needs, also after an administrator has changed it.
    for (const [plural, object] of Object.entries({ roles: role, rolebindings: binding })) {
      assert.equal(contentOf(await allowed(approver, "POST", rbac(plural), object)), contentOf(object));
    }
    await refused(byName, approver, "PATCH", `${rbac("roles")}/${name}`, {
      rules: [{ ...rule, verbs: ["list"] }],
    });
    await allowed("admin", "PATCH", `${rbac("roles")}/${name}`, {
      metadata: { labels: null },
      rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
    });
    await allowed(approver, "PATCH", `${rbac("roles")}/${name}`, changes.role);
    await allowed(approver, "PATCH", `${rbac("rolebindings")}/${name}`, changes.binding);
    const secret = "/api/v1/namespaces/default/secrets";
    for (const secretName of ["db", "other"]) {
      await allowed("admin", "POST", secret, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: secretName },
      });
    }
    await waitFor("RBAC lets the agent read it", async () => {
      return (await send(agentUser("node-a"), "GET", `${secret}/db`)).status === 200;
    });
    await refused(/cannot get/, agentUser("node-a"), "GET", `${secret}/other`);
    await refused(/cannot list/, agentUser("node-a"), "GET", secret);
    await refused(/cannot get/, agentUser("node-b"), "GET", `${secret}/db`);
    await refused(/cannot get/, approver, "GET", `${secret}/db`);
    await allowed(approver, "DELETE", `${rbac("rolebindings")}/${name}`);
    await allowed(approver, "DELETE", `${rbac("roles")}/${name}`);
  });

  test("the account that approves certificates schedules nothing and runs no sets", async (t) => {
    if (needsPolicy(t)) return;
    const app = appWith({ shellFile: "/opt/a.sh" }, { name: "by-approver", ownerReferences: [ofSet()] });
    await refused(/cannot create/, approver, "POST", apps, app);
    await refused(/cannot create/, approver, "POST", revisions, revision("by-approver", {}));
    await refused(/cannot patch/, approver, "PATCH", "/api/v1/nodes/edge", {
      metadata: { labels: { a: "b" } },
    });
    await refused(/cannot get/, approver, "GET", `${leases("nckubelet")}/nc-scheduler`);
    const approval = "/apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval";
    await refused(/cannot patch/, controller, "PATCH", approval, { status: {} });
    await refused(/cannot get/, controller, "GET", `${leases("nckubelet")}/nckubelet-identities`);
  });

  test("a controller writes its own Leases, and events about what it works on", async (t) => {
    if (needsPolicy(t)) return;
    const lease = (name: string) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name },
    });
    const why = /only the Leases of its election/;
    await refused(why, controller, "POST", leases("nckubelet"), lease("other"));
    await allowed(controller, "POST", leases("nckubelet"), lease("nc-scheduler"));
    await refused(why, controller, "POST", leases("nckubelet"), lease("nckubelet-identities"));
    await refused(why, approver, "POST", leases("nckubelet"), lease("nckubelet-sets"));
    await allowed(approver, "POST", leases("nckubelet"), lease("nckubelet-identities"));
    await allowed(controller, "POST", leases("nckubelet"), lease("nc-scheduler-batch"));
    await refused(/cannot create/, controller, "POST", leases("kube-node-lease"), lease("n1"));
    await allowed(edge, "POST", leases("kube-node-lease"), lease("nckubelet-edge"));
    await refused(why, edge, "POST", leases("kube-node-lease"), lease("n1"));
    const event = (name: string, involvedObject: object) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace: "default" },
      involvedObject: { namespace: "default", ...involvedObject },
      reason: "Test",
      type: "Normal",
    });
    const path = "/api/v1/namespaces/default/events";
    await allowed(
      controller,
      "POST",
      path,
      event("a", { kind: "NCApp", apiVersion: "app.example.com/v1alpha1" }),
    );
    await refused(
      /only events about/,
      controller,
      "POST",
      path,
      event("b", { kind: "Pod", apiVersion: "v1" }),
    );
    await allowed("admin", "POST", path, event("c", { kind: "Pod", apiVersion: "v1" }));
    await refused(/only events about/, controller, "PATCH", `${path}/c`, { message: "all is well" });
  });

  test("an agent with controllers is restricted to its own node where it acts as an agent", async (t) => {
    if (needsPolicy(t)) return;
    const node = (name: string) => ({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, annotations: { "app.example.com/registered-by": "nckubelet" } },
      spec: { taints: [{ key: "app.example.com/nckubelet", effect: "NoSchedule" }] },
    });
    await allowed(edge, "POST", "/api/v1/nodes", node("edge"));
    await refused(/only the Node that it runs on/, edge, "POST", "/api/v1/nodes", node("n1"));
    await refused(
      /only Pods of its own node/,
      edge,
      "POST",
      "/api/v1/namespaces/default/pods",
      mirrorPod("x", "n1"),
    );
  });

  const mirrorPod = (name: string, nodeName: string, spec: object = {}) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      annotations: { "kubernetes.io/config.mirror": "x" },
      ownerReferences: [{ ...ofSet(), kind: "NCApp", name: "web", uid: "1" }],
    },
    spec: { nodeName, containers: [{ name: "app", image: "nckubelet/script" }], ...spec },
  });

  test("an agent shows no Pods in namespaces of Kubernetes, and none with a security context", async (t) => {
    if (needsPolicy(t)) return;
    const agent = agentUser("node-a");
    const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
    await refused(
      /no app as a Pod in a namespace kube-\*/,
      agent,
      "POST",
      pods("kube-system"),
      mirrorPod("dns", "node-a"),
    );
    for (
      const securityContext of [{ runAsUser: 0 }, {
        sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }],
      }]
    ) {
      const pod = mirrorPod("shown", "node-a", { securityContext });
      await refused(/without .*a security context/, agent, "POST", pods("default"), pod);
    }
    await allowed(agent, "POST", pods("default"), mirrorPod("shown", "node-a", { securityContext: {} }));
    await allowed("admin", "POST", pods("kube-system"), mirrorPod("old", "node-a"));
    await allowed(agent, "DELETE", `${pods("kube-system")}/old?gracePeriodSeconds=0`);
  });

  test("an agent shows Pods where the namespace does not refuse them, or only where it asks for them", async (t) => {
    if (needsPolicy(t)) return;
    const agent = agentUser("node-a");
    const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
    const label = async (value: string | null) =>
      await allowed("admin", "PATCH", "/api/v1/namespaces/team", {
        metadata: { labels: { "app.example.com/pods": value } },
      });
    const attempt = () => send(agent, "POST", `${pods("team")}?dryRun=All`, mirrorPod("more", "node-a"));
    /** Namespaces come from a cache, too. */
    const becomes = (status: number) =>
      waitFor(`the answer ${status}`, async () => (await attempt()).status === status);
    await cluster.kubectl(["create", "namespace", "team"]);
    await becomes(201);
    for (const own of ["nckubelet", "nckubelet-agents"]) {
      await refused(/or of NC-Kubelet itself/, agent, "POST", pods(own), mirrorPod("shown", "node-a"));
    }
    await allowed(agent, "POST", pods("team"), mirrorPod("shown", "node-a"));
    await label("false");
    await becomes(403);
    await refused(
      /label app\.example\.com\/pods=false/,
      agent,
      "POST",
      pods("team"),
      mirrorPod("more", "node-a"),
    );
    await refused(/pods=false/, agent, "PATCH", `${pods("team")}/shown`, {
      metadata: { labels: { a: "b" } },
    });
    await allowed(agent, "PATCH", `${pods("team")}/shown/status`, { status: { phase: "Running" } });
    await allowed(agent, "DELETE", `${pods("team")}/shown?gracePeriodSeconds=0`);
    for (const policy of buildPolicies("labelled")) await cluster.apply(labelled(policy));
    await label(null);
    await waitFor("the other policy counts", async () => /without the label/.test((await attempt()).body));
    await label("true");
    await becomes(201);
    for (const policy of buildPolicies()) await cluster.apply(labelled(policy));
    await label(null);
    await becomes(201);
  });

  test("the Pod of an app that a drain moves has nothing but the default service account, and its app as an owner", async (t) => {
    if (needsPolicy(t)) return;
    const agent = agentUser("node-a");
    const pods = "/api/v1/namespaces/movable/pods";
    await cluster.kubectl(["create", "namespace", "movable"]);
    const app = { apiVersion: "app.example.com/v1alpha1", kind: "NCApp", name: "web", uid: "1" };
    const set = { ...app, kind: "NCAppSet", uid: "2", controller: true };
    const account = { serviceAccountName: "default", automountServiceAccountToken: false };
    const pod = (spec: object, ownerReferences: object[] = [set, app]) => {
      const { metadata, ...rest } = mirrorPod("moves", "node-a", spec);
      return {
        ...rest,
        metadata: { ...metadata, annotations: { "app.example.com/pod": "x" }, ownerReferences },
      };
    };
    const is = async (why: RegExp, body: object) => await refused(why, agent, "POST", pods, body);
    await is(/no token of it/, pod({ serviceAccountName: "default" }));
    await is(/no service account but the default one/, pod({ ...account, serviceAccountName: "builder" }));
    await is(/without volumes/, pod({ ...account, imagePullSecrets: [{ name: "registry" }] }));
    await is(/of its own node/, pod({ ...account, nodeName: "node-b" }));
    const unmarked = pod(account);
    await is(/of its own node/, { ...unmarked, metadata: { ...unmarked.metadata, annotations: {} } });
    for (
      const owners of [
        [],
        [set],
        [app],
        [{ ...app, controller: true }, { ...set, controller: false }],
        [set, app, { ...set, uid: "3", controller: false }],
        [{ ...set, apiVersion: "apps/v1", kind: "ReplicaSet" }, app],
        [{ ...set, blockOwnerDeletion: true }, app],
      ]
    ) {
      await is(/as its controller/, pod(account, owners));
    }
    await allowed(agent, "POST", pods, pod(account));
    await allowed(agent, "DELETE", `${pods}/moves?gracePeriodSeconds=0`);
    await allowed(agent, "POST", pods, pod(account, [{ ...app, controller: true }]));
    await allowed(agent, "DELETE", `${pods}/moves?gracePeriodSeconds=0`);
  });

  test("a node whose Lease would be that of another node's agent writes nothing", async (t) => {
    if (needsPolicy(t)) return;
    const lease = (name: string) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name },
    });
    const why = /must not begin with nckubelet-/;
    await refused(why, misnamed, "POST", leases("kube-node-lease"), lease("nckubelet-a"));
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "nckubelet-a" } };
    await refused(why, misnamed, "POST", "/api/v1/nodes", node);
  });
});

/** One line for each verb, resource and name. */
function flatten(
  rules: { apiGroups?: string[]; resources?: string[]; resourceNames?: string[]; verbs: string[] }[],
): string[] {
  const lines = rules.flatMap(({ apiGroups = [], resources = [], resourceNames = [""], verbs }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => resourceNames.map((name) => `${verb} ${group}/${resource} ${name}`))
      )
    )
  );
  return [...new Set(lines)].sort();
}

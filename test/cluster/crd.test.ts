/**
 * The CRD, RBAC and examples on a real API server, and the proof that the local validator decides as the server does.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { renderInstallManifests } from "../../src/api/install/install.ts";
import { parseManifests } from "../../src/api/manifest/manifest.ts";
import { agentGroup, agentUser, crdName, schedulerGroup } from "../../src/api/names.ts";
import type { NCAppSpec } from "../../src/api/types.ts";
import { applyDefaults, validateNCApp } from "../../src/api/validate/validate.ts";
import { appWith, badSpecs, explainedSpecs, goodSpecs } from "../api/samples.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { allowMirrors, crdFolder, describesFields, installCRD } from "../harness/install-crd.ts";
import { checkout, skipUnless } from "../harness/parts.ts";
import { waitFor } from "../wait-for.ts";

const agent = agentUser("node-1");
const users = [
  { name: agent, groups: [agentGroup] },
  { name: "scheduler", groups: [schedulerGroup] },
];
const ncapps = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps";
const examples = join(checkout, "examples");

describe("crd/ on a real API server", { skip: skipUnless("control-plane") }, () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await startControlPlane({ users });
    await installCRD(cluster);
    await describesFields(cluster, "ncapp");
  });

  after(() => cluster?.stop());

  test("kubectl apply -f crd/ changes nothing the second time", async () => {
    const { stdout } = await cluster.kubectl(["apply", "-f", crdFolder(cluster)]);
    assert.doesNotMatch(stdout, /created|configured/);
  });

  test("kubectl applies the manifests for this server's version", async () => {
    const input = renderInstallManifests({ minor: cluster.version.minor, image: "nckubelet:test" });
    await cluster.kubectl(["apply", "-f", "-"], { input });
  });

  test("kubectl applies the sample of the design unchanged and lists it with the columns of the design", async () => {
    const sample = appWith({ shellFile: "", cpuPCT: "", memPCT: "" }, { name: "test-ncapp1" });
    await cluster.apply(sample);
    const { stdout } = await cluster.kubectl(["get", "nca"]);
    assert.deepEqual(stdout.split("\n")[0]!.trim().split(/\s+/), [
      ...["NAME", "NODE", "PHASE", "READY", "CPU", "MEM", "RESTARTS", "AGE"],
    ]);
    assert.match((await cluster.kubectl(["get", "all"])).stdout, /ncapp\.app\.example\.com\/test-ncapp1/);
    const stored = JSON.parse((await cluster.request(`${ncapps}/test-ncapp1`)).body);
    assert.deepEqual(stored.spec, applyDefaults({ shellFile: "", cpuPCT: "", memPCT: "" }));
  });

  test("the server tells kubectl which field is wrong", async () => {
    const bad = {
      cpuPCT: ["200", "abc", -1, "0", 0, 101],
      memPCT: ["200%"],
      restartPolicy: ["Sometimes"],
      oomPolicy: ["x"],
    };
    for (const [field, values] of Object.entries(bad)) {
      for (const value of values) {
        const input = JSON.stringify(appWith({ [field]: value }));
        const { code, stderr } = await cluster.kubectl(["apply", "-f", "-"], { input, allowFail: true });
        assert.equal(code, 1, input);
        assert.ok(stderr.includes(`spec.${field}: `), stderr);
      }
    }
  });

  test("kubectl and the validator refuse a misspelled field", async () => {
    const object = appWith({ cpuPct: "20" });
    const { stderr } = await cluster.kubectl(["apply", "-f", "-"], {
      input: JSON.stringify(object),
      allowFail: true,
    });
    assert.match(stderr, /unknown field "(spec\.)?cpuPct"/);
    assert.equal(validateNCApp(object).length, 1);
  });

  test("an app of one version is the same app in the other, and the server stores v1alpha1", async () => {
    const app = (version: string, spec: object) => ({
      ...appWith(spec, { name: "versions" }),
      apiVersion: `app.example.com/${version}`,
    });
    await cluster.apply(app("v1beta1", { shellFile: "/x", cpuPCT: "20" }));
    const read = async (version: string) => {
      const path = `/apis/app.example.com/${version}/namespaces/default/ncapps/versions`;
      return JSON.parse((await cluster.request(path)).body);
    };
    const [alpha, beta] = [await read("v1alpha1"), await read("v1beta1")];
    assert.deepEqual([alpha.apiVersion, beta.apiVersion], [
      "app.example.com/v1alpha1",
      "app.example.com/v1beta1",
    ]);
    assert.deepEqual([alpha.spec, alpha.metadata.uid], [beta.spec, beta.metadata.uid]);
    await cluster.apply(app("v1alpha1", { shellFile: "/x", cpuPCT: "30" }));
    assert.equal((await read("v1beta1")).spec.cpuPCT, "30");
    const { stdout } = await cluster.kubectl([
      "get",
      "crd",
      crdName,
      "-o",
      "jsonpath={.status.storedVersions}",
    ]);
    assert.equal(stdout, '["v1alpha1"]');
    await cluster.kubectl(["delete", "ncapp", "versions"]);
  });

  test("kubectl explain describes a field", async () => {
    const { stdout } = await cluster.kubectl(["explain", "ncapp.spec.cpuPCT"]);
    assert.match(
      stdout.replaceAll(/\s+/g, " "),
      /Hard cap on CPU time, in percent of all CPUs of the node: "20", "12\.5" or 20/,
    );
  });

  test("the server accepts what the validator accepts, and fills in the same defaults", async () => {
    for (const spec of goodSpecs) {
      const { status, body } = await create(appWith(spec));
      assert.equal(status, 201, `${JSON.stringify(spec)}: ${body}`);
      assert.deepEqual(JSON.parse(body).spec, applyDefaults(spec as NCAppSpec));
    }
  });

  test("the server refuses what the validator refuses, for the same field", async (t) => {
    const hasRules = cluster.has("selectable-fields");
    if (!hasRules) t.diagnostic(`API server ${cluster.version.gitVersion}: the CEL rules were not covered`);
    for (const { spec, field, by } of badSpecs) {
      const { status, body } = await create(appWith(spec));
      const refuses = by === "schema" || (by === "cel" && hasRules);
      assert.equal(status, refuses ? 422 : 201, `${JSON.stringify(spec)}: ${body}`);
      if (!refuses) continue;
      const causes: Array<{ field: string }> = JSON.parse(body).details.causes;
      const fields = causes.map((cause) => withoutIndexes(cause.field));
      assert.ok(
        fields.includes(withoutIndexes(field)),
        `${JSON.stringify(spec)}: ${field} is not in ${body}`,
      );
    }
  });

  test("the server says in words what is wrong with a cap, a schedule and a time zone", async (t) => {
    if (!cluster.has("selectable-fields")) return t.skip("this server has no CEL rules");
    for (const [spec, words] of explainedSpecs) {
      const { stderr } = await cluster.kubectl(["apply", "-f", "-"], {
        input: JSON.stringify(appWith(spec)),
        allowFail: true,
      });
      assert.match(stderr, words);
      assert.doesNotMatch(stderr, /should match|\^\(/);
    }
  });

  test("the server validates a status, too", async () => {
    await cluster.request(ncapps, { method: "POST", body: appWith({}, { name: "with-status" }) });
    const patch = (status: object) =>
      cluster.request(`${ncapps}/with-status/status`, {
        method: "PATCH",
        body: { status },
        contentType: "application/merge-patch+json",
      });
    const good = {
      phase: "Running",
      ready: true,
      cpuPCT: "1.5",
      restarts: 0,
      startTime: "2026-11-16T01:02:03Z",
    };
    assert.equal((await patch({ ...good, conditions: [{ type: "Ready", status: "True" }] })).status, 200);
    assert.match((await patch({ phase: "Dancing" })).body, /status\.phase: Unsupported value/);
  });

  test("kubectl applies every example", async () => {
    for (const name of (await readdir(examples)).filter((name) => name.endsWith(".yaml"))) {
      const { apps } = parseManifests(await readFile(join(examples, name), "utf8"), name, {
        baseDir: examples,
      });
      for (const app of apps) await cluster.apply(app);
    }
    await cluster.kubectl(["apply", "-f", join(examples, "cluster")]);
  });

  test("agents and schedulers may do what they need, and no more", async () => {
    // Only together with the policy that restricts them to those of their node.
    const podVerbs = [
      "list pods",
      "watch pods",
      "create pods",
      "patch pods",
      "delete pods",
      "patch pods/status",
    ];
    const hasPolicies = cluster.has("selectable-fields");
    const table = {
      [agent]: {
        may: [
          ...[
            "list ncapps",
            "watch ncapps",
            "patch ncapps/status",
            "create nodes",
            "patch nodes",
            "patch nodes/status",
          ],
          ...[
            "create leases -n kube-node-lease",
            "update leases -n kube-node-lease",
            "create events",
            "list priorityclasses",
          ],
          ...["create tokenreviews", "create subjectaccessreviews"],
          ...(hasPolicies ? podVerbs : []),
        ],
        mayNot: [
          ...(hasPolicies ? [] : podVerbs),
          ...["create pods/exec", "get pods/log", "create pods/eviction", "update pods"],
          ...["get secrets", "list secrets", "get configmaps", "update ncapps", "delete nodes", "list nodes"],
          ...[
            "create leases",
            "create leases -n nckubelet",
            "delete leases -n kube-node-lease",
          ],
          ...["patch resourcequotas/status", "create clusterrolebindings", "impersonate users"],
          ...["get priorityclasses", "watch priorityclasses"],
          ...["create ncapps", "patch ncapps", "delete ncapps"],
        ],
      },
      scheduler: {
        may: [
          ...[
            "list ncapps",
            "watch ncapps",
            "patch ncapps",
            "patch ncapps/status",
            "watch nodes",
            "create events",
          ],
          ...[
            "watch leases -n kube-node-lease",
            "create leases -n nckubelet",
            "patch leases/nc-scheduler -n nckubelet",
          ],
          ...[
            "list priorityclasses",
            "list resourcequotas",
            "patch resourcequotas/status",
            "list limitranges",
          ],
          // The controller of sets has the same user.
          ...["create ncapps", "delete ncapps"],
        ],
        mayNot: [
          ...[
            "get secrets",
            "patch nodes",
            "patch leases -n kube-node-lease",
          ],
          ...["patch leases/other -n nckubelet", "patch resourcequotas", "create pods"],
        ],
      },
    };
    for (const [user, { may, mayNot }] of Object.entries(table)) {
      for (const what of may) {
        assert.equal(await canI(user, what), true, `${user} must be allowed to ${what}`);
      }
      for (const what of mayNot) {
        assert.equal(await canI(user, what), false, `${user} must not be allowed to ${what}`);
      }
    }
  });

  describe("an agent", () => {
    const merge = "application/merge-patch+json";
    const mirror = { "app.example.com/config.mirror": "x" };
    const asAgent = (method: string, path: string, body?: object) =>
      cluster.request(path, {
        method,
        body,
        token: cluster.tokenFor(agent),
        ...(method === "PATCH" && { contentType: merge }),
      });
    const asAdmin = async (method: string, path: string, body?: object) => {
      const answer = await cluster.request(path, {
        method,
        body,
        ...(method === "PATCH" && { contentType: merge }),
      });
      assert.ok(answer.status < 300, answer.body);
    };
    const refused = async (why: RegExp, ...request: Parameters<typeof asAgent>) => {
      const { status, body } = await asAgent(...request);
      assert.equal(status, 403, body);
      assert.match(JSON.parse(body).message, why);
    };
    const allowed = async (...request: Parameters<typeof asAgent>) => {
      const { status, body } = await asAgent(...request);
      assert.ok(status < 300, `${status}: ${body}`);
    };
    const needsPolicy = (t: TestContext) => {
      if (cluster.has("admission-policy")) return false;
      t.skip(`API server ${cluster.version.gitVersion} has no admission policies`);
      return true;
    };

    test("writes only to its own node", async (t) => {
      if (needsPolicy(t)) return;
      await allowMirrors(cluster, "default");
      const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
      for (const node of ["node-1", "node-2"]) {
        await asAdmin("POST", ncapps, appWith({ nodeName: node }, { name: `on-${node}` }));
        const run = (why: RegExp, ...request: Parameters<typeof asAgent>) =>
          node === "node-1" ? allowed(...request) : refused(why, ...request);
        await run(/only NCApps that are bound/, "PATCH", `${ncapps}/on-${node}/status`, {
          status: { phase: "Running" },
        });
        await refused(/only the status|only NCApps that are bound/, "PATCH", `${ncapps}/on-${node}`, {
          spec: { suspend: true },
        });
        const body = appWith({ nodeName: node }, { name: `mirror-${node}`, annotations: mirror });
        await run(/only NCApps that are bound/, "POST", ncapps, body);
        const metadata = { name: `nckubelet-${node}` };
        await run(/only the Leases of the node/, "POST", leases, {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata,
        });
      }
    });

    test("lets go of an app that was moved away, and claims none for another node", async (t) => {
      if (needsPolicy(t)) return;
      const path = `${ncapps}/moved`;
      const holder = (nodeName: string) => ({ status: { nodeName } });
      await asAdmin("POST", ncapps, appWith({ nodeName: "node-1" }, { name: "moved" }));
      await refused(/status\.nodeName only to its own/, "PATCH", `${path}/status`, holder("node-2"));
      await allowed("PATCH", `${path}/status`, holder("node-1"));
      await asAdmin("PATCH", path, { spec: { nodeName: "node-2" } });
      await allowed("PATCH", `${path}/status`, { status: { phase: "Stopping" } });
      await allowed("PATCH", `${path}/status`, holder(""));
      await refused(/only NCApps that are bound/, "PATCH", `${path}/status`, holder("node-1"));
      await asAdmin("PATCH", `${path}/status`, holder("node-2"));
      await asAdmin("PATCH", path, { spec: { nodeName: "node-1" } });
      await allowed("PATCH", `${path}/status`, { status: { phase: "Pending" } });
      await refused(/clear only its own/, "PATCH", `${path}/status`, holder(""));
    });

    test("cannot lift its cordon, change taints and labels of others, or change owners of its Node", async (t) => {
      if (needsPolicy(t)) return;
      const path = "/api/v1/nodes/node-1";
      const own = { key: "app.example.com/nckubelet", effect: "NoSchedule" };
      const node = (metadata: object, spec: object) => ({
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: "node-1", ...metadata },
        spec,
      });
      const annotations = { "app.example.com/registered-by": "nckubelet" };
      const role = { "node-role.kubernetes.io/control-plane": "" };
      const owners = [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "0" }];
      const labels = { "kubernetes.io/hostname": "node-1", "app.example.com/nckubelet": "true" };
      const restricted = [
        "node-restriction.kubernetes.io/team",
        "x.k8s.io/a",
        "k8s.io/a",
        "app.example.com/a",
      ];
      for (const label of [...Object.keys(role), ...restricted, "topology.kubernetes.io/zones"]) {
        const labels = { [label]: "" };
        const body = node({ labels, annotations }, { taints: [own] });
        await refused(/may not give its new Node a label/, "POST", "/api/v1/nodes", body);
      }
      const chosen = {
        "topology.kubernetes.io/zone": "z",
        "node.kubernetes.io/any": "",
        "example.com/rack": "7",
      };
      const owned = node({ ownerReferences: owners, annotations }, { taints: [own] });
      await refused(/ownerReferences/, "POST", "/api/v1/nodes", owned);
      const untainted = node({ labels, annotations }, {});
      await refused(/has the annotation .* and the taint/, "POST", "/api/v1/nodes", untainted);
      const unmarked = node({ labels }, { taints: [own] });
      await refused(/has the annotation .* and the taint/, "POST", "/api/v1/nodes", unmarked);
      const roomy = { ...node({ annotations }, { taints: [own] }), status: { capacity: { pods: "9" } } };
      await refused(/offers no room for Pods/, "POST", "/api/v1/nodes", roomy);
      const body = node({ labels: { ...labels, ...chosen }, annotations }, { taints: [own] });
      await allowed("POST", "/api/v1/nodes", body);
      for (const label of Object.keys(chosen)) {
        await refused(/only these labels/, "PATCH", path, { metadata: { labels: { [label]: "other" } } });
      }

      const theirs = { key: "maintenance", effect: "NoExecute", value: "tonight" };
      await asAdmin("PATCH", path, {
        metadata: { labels: { ...role, disk: "ssd" } },
        spec: { unschedulable: true, taints: [own, theirs] },
      });
      await refused(/spec\.unschedulable/, "PATCH", path, { spec: { unschedulable: null } });
      await refused(/only the taint/, "PATCH", path, { spec: { taints: [own] } });
      await refused(/only the taint/, "PATCH", path, {
        spec: { taints: [own, { ...theirs, value: "never" }] },
      });
      for (const label of ["node-role.kubernetes.io/x", "node-restriction.kubernetes.io/x", "zone"]) {
        await refused(/only these labels/, "PATCH", path, { metadata: { labels: { [label]: "" } } });
        // The status of a Node also carries its labels.
        await refused(/only these labels/, "PATCH", `${path}/status`, {
          metadata: { labels: { [label]: "" } },
        });
      }
      await refused(/only these labels/, "PATCH", path, { metadata: { labels: { disk: null } } });
      await refused(/only these labels/, "PATCH", path, { metadata: { labels: { disk: "hdd" } } });
      await refused(/finalizers/, "PATCH", path, { metadata: { finalizers: ["example.com/keep"] } });

      await allowed("PATCH", path, {
        metadata: { labels: { "kubernetes.io/arch": "amd64" }, annotations: { a: "b" } },
      });
      await allowed("PATCH", `${path}/status`, { status: { capacity: { cpu: "2", pods: "0" } } });
      for (const field of ["capacity", "allocatable"]) {
        await refused(/offers no room for Pods/, "PATCH", `${path}/status`, {
          status: { [field]: { pods: "110" } },
        });
      }
      await refused(/may not remove the taint/, "PATCH", path, { spec: { taints: [theirs] } });
    });

    test("lists only addresses that can be those of its node", async (t) => {
      if (needsPolicy(t)) return;
      const path = "/api/v1/nodes/node-1/status";
      const listed = (type: string, address: string) => ({ status: { addresses: [{ type, address }] } });
      for (
        const [type, address] of [
          ["Hostname", "Kubernetes.Default.SVC"],
          ["Hostname", "node-2"],
          ["Hostname", "Node-1"],
          ["Hostname", "node-1.default.svc"],
          ["InternalDNS", "web.monitoring"],
          ["ExternalDNS", "*"],
          ["InternalIP", "127.0.0.1"],
          ["InternalIP", "::1"],
          ["InternalIP", "169.254.169.254"],
          ["InternalIP", "fe80::1"],
          ["ExternalIP", "0.0.0.0"],
          ["InternalIP", "224.0.0.1"],
          ["InternalIP", "node-2"],
        ] as const
      ) {
        await refused(/the addresses of an agent's Node/, "PATCH", path, listed(type, address));
      }
      for (
        const [type, address] of [
          ["Hostname", "node-1"],
          ["InternalDNS", "node-1.example.com"],
          ["InternalIP", "10.0.0.7"],
          ["InternalIP", "fd00::7"],
        ] as const
      ) {
        await allowed("PATCH", path, listed(type, address));
      }
    });

    test("changes nothing but its label on a kubelet's Node, unless an administrator lets it", async (t) => {
      if (needsPolicy(t)) return;
      const path = "/api/v1/nodes/node-1";
      await asAdmin("PATCH", path, { metadata: { annotations: { "app.example.com/registered-by": null } } });
      await asAdmin("PATCH", `${path}/status`, { status: { nodeInfo: { kubeletVersion: "v1.36.4" } } });
      const why = /a kubelet made this Node/;
      const mark = { "app.example.com/registered-by": "nckubelet" };
      await refused(why, "PATCH", path, { metadata: { annotations: mark } });
      await refused(why, "PATCH", path, { metadata: { labels: { "kubernetes.io/arch": "arm64" } } });
      await refused(why, "PATCH", `${path}/status`, {
        status: { conditions: [{ type: "Ready", status: "False" }] },
      });
      await refused(why, "PATCH", `${path}/status`, {
        status: { nodeInfo: { kubeletVersion: "v1.36.4+nckubelet" } },
      });
      await allowed("PATCH", path, { metadata: { labels: { "app.example.com/nckubelet": null } } });
      await allowed("PATCH", path, { metadata: { labels: { "app.example.com/nckubelet": "true" } } });
      await asAdmin("PATCH", path, { metadata: { annotations: mark } });
      await allowed("PATCH", `${path}/status`, { status: { capacity: { cpu: "4" } } });
    });

    test("writes events in its own name only, about apps, Pods and its own Node", async (t) => {
      if (needsPolicy(t)) return;
      const path = "/api/v1/namespaces/default/events";
      const event = (name: string, parts: object = {}) => ({
        apiVersion: "v1",
        kind: "Event",
        metadata: { name, namespace: "default" },
        involvedObject: {
          apiVersion: "app.example.com/v1alpha1",
          kind: "NCApp",
          namespace: "default",
          name: "web",
        },
        source: { component: "nckubelet", host: "node-1" },
        reportingComponent: "nckubelet",
        reportingInstance: "node-1",
        reason: "Started",
        message: "is well",
        type: "Normal",
        ...parts,
      });
      const about = (involvedObject: object) => event("other", { involvedObject });
      const why = /only events that name its node/;
      for (
        const body of [
          event("other", { source: { component: "nckubelet", host: "node-2" } }),
          event("other", { source: { component: "kubelet", host: "node-1" } }),
          event("other", { source: {} }),
          event("other", { reportingInstance: "node-2" }),
          about({ apiVersion: "apps/v1", kind: "Deployment", namespace: "default", name: "web" }),
          about({ apiVersion: "v1", kind: "Node", name: "node-2" }),
          about({ apiVersion: "example.com/v1", kind: "NCApp", namespace: "default", name: "web" }),
        ]
      ) await refused(why, "POST", path, body);
      await allowed("POST", path, event("own"));
      await allowed(
        "POST",
        path,
        about({ apiVersion: "v1", kind: "Pod", namespace: "default", name: "web" }),
      );
      await allowed("PATCH", `${path}/own`, { count: 2, message: "is well again" });
      await refused(why, "PATCH", `${path}/own`, { source: { host: "node-2" } });
      const theirs = {
        source: { component: "kubelet", host: "worker" },
        involvedObject: { kind: "Pod", namespace: "default", name: "x" },
      };
      await asAdmin("POST", path, event("theirs", theirs));
      await refused(why, "PATCH", `${path}/theirs`, { message: "all is lost" });
      await refused(why, "PATCH", `${path}/theirs`, event("theirs"));
    });

    test("writes nothing while its node is refused", async (t) => {
      if (needsPolicy(t)) return;
      const maps = "/api/v1/namespaces/nckubelet-agents/configmaps";
      const list = (data: object) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "refused-nodes" },
        data,
      });
      const touch = ["PATCH", "/api/v1/nodes/node-1", { metadata: { annotations: { a: "c" } } }] as const;
      await asAdmin("POST", maps, list({ "node-2": "another one" }));
      await allowed(...touch);
      await asAdmin("PATCH", `${maps}/refused-nodes`, { data: { "node-1": "stolen" } });
      await waitFor("the policy knows", async () => (await asAgent(...touch)).status === 403);
      await refused(/refuses the agent of this node/, ...touch);
      await asAdmin("DELETE", `${maps}/refused-nodes`);
      await waitFor("it counts no longer", async () => (await asAgent(...touch)).status === 200);
    });

    test("writes mirrors only where an admin allows it, and without owners and finalizers", async (t) => {
      if (needsPolicy(t)) return;
      const body = (name: string, metadata: object = {}) =>
        appWith({ nodeName: "node-1" }, { name, annotations: mirror, ...metadata });
      await refused(
        /cannot create resource "ncapps"/,
        "POST",
        ncapps.replace("/default/", "/kube-system/"),
        body("shown"),
      );
      const owners = [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "0" }];
      await refused(/finalizers/, "POST", ncapps, body("shown", { finalizers: ["example.com/keep"] }));
      await refused(/ownerReferences/, "POST", ncapps, body("shown", { ownerReferences: owners }));
      await refused(/only the status/, "POST", ncapps, body("shown", { annotations: {} }));
      await allowed("POST", ncapps, body("shown"));
      await refused(/finalizers/, "PATCH", `${ncapps}/shown`, {
        metadata: { finalizers: ["example.com/keep"] },
      });
      await allowed("PATCH", `${ncapps}/shown`, { spec: { suspend: true } });
      await allowed("DELETE", `${ncapps}/shown`);
    });
  });

  test("the server checks caps against the LimitRanges of the namespace, also of a bound app and after an edit", async (t) => {
    if (!cluster.has("admission-policy")) {
      return t.skip(`API server ${cluster.version.gitVersion} has no admission policies`);
    }
    await cluster.kubectl(["create", "namespace", "limited"]);
    const path = ncapps.replace("/default/", "/limited/");
    const send = (method: string, where: string, body: object) =>
      cluster.request(where, {
        method,
        body,
        ...(method === "PATCH" && { contentType: "application/merge-patch+json" }),
      });
    const allowed = async (...request: Parameters<typeof send>) => {
      const { status, body } = await send(...request);
      assert.ok(status < 300, body);
    };
    const refused = async (...request: Parameters<typeof send>) => {
      const { status, body } = await send(...request);
      assert.equal(status, 403, body);
      assert.match(JSON.parse(body).message, /out of the bounds of LimitRange shares/);
    };
    const app = (name: string, spec: object) => appWith(spec, { name, namespace: "limited" });
    await allowed("POST", path, app("early", { cpuPCT: 90, nodeName: "node-1" }));
    const key = "app.example.com/cpuPCT";
    const limits = [
      { type: "Container", max: { cpu: "1" } },
      { type: "app.example.com/NCApp", min: { [key]: "5" }, max: { [key]: "30500m" } },
    ];
    await cluster.kubectl(["create", "-f", "-"], {
      input: JSON.stringify({
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "shares", namespace: "limited" },
        spec: { limits },
      }),
    });
    // The policy reads LimitRanges from a cache that may lag.
    await waitFor(
      "the LimitRange counts",
      async () => (await send("POST", `${path}?dryRun=All`, app("big", { cpuPCT: "31" }))).status === 403,
    );
    await refused("POST", path, app("small", { cpuPCT: "4.5%" }));
    await refused("POST", path, app("bound", { nodeName: "node-1" }));
    await allowed("POST", path, app("unbound", {}));
    await allowed("POST", path, app("fits", { cpuPCT: "30.5", memPCT: "90", nodeName: "node-1" }));
    await refused("PATCH", `${path}/fits`, { spec: { cpuPCT: 31 } });
    await refused("PATCH", `${path}/unbound`, { spec: { nodeName: "node-1" } });
    await allowed("PATCH", `${path}/unbound`, { spec: { nodeName: "node-1", cpuPCT: 5 } });
    await allowed("PATCH", `${path}/early`, { spec: { suspend: true } });
    await allowed("PATCH", `${path}/early`, { spec: { nodeName: null } });
    await refused("PATCH", `${path}/early`, { spec: { nodeName: "node-2" } });
  });

  function create(body: object): Promise<{ status: number; body: string }> {
    return cluster.request(`${ncapps}?dryRun=All`, { method: "POST", body });
  }

  // "patch leases/nc-scheduler -n nckubelet", as kubectl auth can-i has it; a subresource is not a name.
  async function canI(user: string, what: string): Promise<boolean> {
    const [verb, target, , namespace] = what.split(" ");
    const [resource, rest] = target!.split("/");
    const attributes = {
      verb,
      resource,
      group: groups[resource!] ?? "",
      namespace: namespace ?? "elsewhere",
      ...(["status", "exec", "log", "eviction"].includes(rest ?? "")
        ? { subresource: rest }
        : { name: rest }),
    };
    const { body } = await cluster.request("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      method: "POST",
      token: cluster.tokenFor(user),
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: attributes },
      },
    });
    return JSON.parse(body).status.allowed;
  }
});

const groups: { [resource: string]: string } = {
  ncapps: "app.example.com",
  leases: "coordination.k8s.io",
  priorityclasses: "scheduling.k8s.io",
  tokenreviews: "authentication.k8s.io",
  subjectaccessreviews: "authorization.k8s.io",
  clusterrolebindings: "rbac.authorization.k8s.io",
};

// Servers differ in how they name items: spec.env.name (1.20), spec.env[0].name (later).
function withoutIndexes(field: string): string {
  return field.replaceAll(/\[\d+\]/g, "").replaceAll(/\[([a-z]+)\]/g, ".$1");
}

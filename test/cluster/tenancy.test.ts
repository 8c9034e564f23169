/** What a tenant may run: NCAppPolicies and the roles for users on a real API server. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { schedulerGroup } from "../../src/api/names.ts";
import type { Cluster } from "../harness/cluster.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { checkout, skipUnlessControllers } from "../harness/parts.ts";
import { waitFor } from "../wait-for.ts";

const controller = "nckubelet-scheduler";
const tenant = "tenant";
const group = "/apis/app.example.com";
const apps = (namespace: string, version = "v1alpha1") =>
  `${group}/${version}/namespaces/${namespace}/ncapps`;
const sets = (namespace: string) => `${group}/v1alpha1/namespaces/${namespace}/ncappsets`;
const policies = (namespace: string) => `${group}/v1alpha1/namespaces/${namespace}/ncapppolicies`;

/** What every rule of the policy allows. */
const good = {
  shellFile: "/opt/team/start.sh",
  runAsUser: "team",
  cpuPCT: "20",
  memPCT: 10,
};
const policy = {
  users: ["team", "1001"],
  groups: ["www-data"],
  scripts: ["/opt/team/", "https://repo.example.com/team/", "/usr/bin/true"],
  maxCPUPCT: "50",
  maxMemPCT: "25%",
  requireCaps: true,
  denyNodeName: true,
  denyExec: true,
};
const app = (spec: object, name = "web", version = "v1alpha1") => ({
  apiVersion: `app.example.com/${version}`,
  kind: "NCApp",
  metadata: { name },
  spec,
});
const set = (spec: object, more: object = {}) => ({
  apiVersion: "app.example.com/v1alpha1",
  kind: "NCAppSet",
  metadata: { name: "web" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec },
    ...more,
  },
});
const exec = (...command: string[]) => ({ livenessProbe: { exec: { command } } });

const allowedSpecs: object[] = [
  good,
  { ...good, shellFile: "" },
  { ...good, runAsUser: 1001 },
  { ...good, runAsGroup: "www-data" },
  { ...good, shellFile: "https://repo.example.com/team/web.sh?v=1" },
  { ...good, stopFile: "/opt/team/stop.sh", ...exec("/usr/bin/true") },
  { ...good, cpuPCT: 50, memPCT: "25" },
  { ...good, allowExec: false },
];

/** Each with the field that the refusal names. */
const refusedSpecs: [object, RegExp][] = [
  [
    { ...good, runAsUser: undefined },
    /runAsUser: Forbidden: "" is not one of the users team, 1001 \(NCAppPolicy tenant\)/,
  ],
  [{ ...good, runAsUser: "root" }, /runAsUser: Forbidden: "root"/],
  [{ ...good, runAsUser: 0 }, /runAsUser: Forbidden: "0"/],
  [{ ...good, runAsGroup: "disk" }, /runAsGroup: Forbidden: "disk" is not one of the groups www-data/],
  [{ ...good, runAsGroup: 0 }, /runAsGroup: Forbidden: "0"/],
  ...[
    "/bin/sh",
    "/opt/team",
    "/opt/teams/start.sh",
    "/opt/team/../../bin/sh",
    "/opt/team/..",
    "/usr/bin/true/x",
    "https://repo.example.com/other/x.sh",
    "https://repo.example.com.evil.example/team/x.sh",
    "https://repo.example.com/team/../other/x.sh",
    "https://repo.example.com/team/..?x",
    "https://repo.example.com/team/%2e%2E/other/x.sh",
    "https://repo.example.com/team/..\\other/x.sh",
    "http://repo.example.com/team/x.sh",
  ].map((shellFile): [object, RegExp] => [
    { ...good, shellFile, ...(shellFile.startsWith("http:") && { shellFileSHA256: "a".repeat(64) }) },
    /shellFile, stopFile or probes: Forbidden: ".*" is not below \/opt\/team\//,
  ]),
  [{ ...good, stopFile: "/bin/sh" }, /"\/bin\/sh" is not below/],
  [{ ...good, ...exec("sh", "-c", "id") }, /"sh" is not below/],
  [{ ...good, readinessProbe: { exec: { command: ["/bin/sh"] } } }, /"\/bin\/sh" is not below/],
  [{ ...good, startupProbe: { exec: { command: ["/bin/sh"] } } }, /"\/bin\/sh" is not below/],
  [{ ...good, cpuPCT: "51" }, /cpuPCT: Forbidden: must be set, to at most 50/],
  [{ ...good, cpuPCT: "" }, /cpuPCT: Forbidden: must be set/],
  [{ ...good, memPCT: "25.1%" }, /memPCT: Forbidden: must be set, to at most 25%/],
  [{ ...good, memPCT: undefined }, /memPCT: Forbidden: must be set/],
  [{ ...good, allowExec: true }, /allowExec: Forbidden: must not be true/],
];

describe("tenancy", { skip: skipUnlessControllers(), timeout: 300_000 }, () => {
  const opened = new AsyncDisposableStack();
  let cluster: Cluster;

  before(async () => {
    const users = [{ name: tenant, groups: [] }, { name: "viewer", groups: [] }, {
      name: controller,
      groups: [schedulerGroup],
    }];
    const others = defaultUsers.filter(({ name }) => name !== controller);
    cluster = opened.use(await startControlPlane({ users: [...others, ...users], controllers: [] }));
    await installCRD(cluster);
    if (!cluster.has("admission-policy")) return;
    await cluster.kubectl(["apply", "-f", join(checkout, "crd/tenancy")]);
    for (const namespace of ["team", "caps", "free"]) {
      await cluster.kubectl(["create", "namespace", namespace]);
    }
    await cluster.kubectl([
      "-n",
      "team",
      "create",
      "rolebinding",
      tenant,
      "--clusterrole=edit",
      `--user=${tenant}`,
    ]);
    await cluster.kubectl([
      "-n",
      "team",
      "create",
      "rolebinding",
      "viewer",
      "--clusterrole=view",
      "--user=viewer",
    ]);
    // The server finds the kind of the policy's parameters within 30 s, and has them in a cache that may lag.
    await waitFor(
      "an app is accepted",
      async () => (await create(apps("free"), app({}))).status === 201,
      60_000,
    );
    await cluster.apply({
      ...app(policy, "tenant"),
      kind: "NCAppPolicy",
      metadata: { name: "tenant", namespace: "team" },
    });
    await cluster.apply({
      ...app({ requireCaps: true }, "caps"),
      kind: "NCAppPolicy",
      metadata: { name: "caps", namespace: "caps" },
    });
    await waitFor(
      "the policies count",
      async () =>
        (await create(apps("team"), app({}))).status === 403 &&
        (await create(apps("caps"), app({}))).status === 403,
    );
  });
  after(() => opened.disposeAsync());

  const send = async (method: string, path: string, body?: object, user?: string) =>
    await cluster.request(path, {
      method,
      body,
      ...(user ? { token: cluster.tokenFor(user) } : {}),
      ...(method === "PATCH" && { contentType: "application/merge-patch+json" }),
    });
  const create = (path: string, body: object, user?: string) =>
    send("POST", `${path}?dryRun=All`, body, user);
  const allowed = async (...request: Parameters<typeof send>) => {
    const { status, body } = await send(...request);
    assert.ok(status < 300, `${JSON.stringify(request)}: ${status}: ${body}`);
    return JSON.parse(body);
  };
  const refused = async (why: RegExp, ...request: Parameters<typeof send>) => {
    const { status, body } = await send(...request);
    assert.equal(status, 403, `${JSON.stringify(request)}: ${status}: ${body}`);
    assert.match(JSON.parse(body).message, why);
  };
  const needsPolicy = (t: { skip(why: string): void }) => {
    if (cluster.has("admission-policy")) return false;
    t.skip(`API server ${cluster.version.gitVersion} has no admission policies`);
    return true;
  };

  test("an NCAppPolicy allows and refuses apps by user, group, script, caps and exec, in both versions", async (t) => {
    if (needsPolicy(t)) return;
    for (const version of ["v1alpha1", "v1beta1"]) {
      const path = `${apps("team", version)}?dryRun=All`;
      for (const spec of allowedSpecs) await allowed("POST", path, app(spec, "web", version));
      for (const [spec, why] of refusedSpecs) await refused(why, "POST", path, app(spec, "web", version));
    }
    await allowed("POST", `${apps("free")}?dryRun=All`, app({ shellFile: "/bin/sh", allowExec: true }));
  });

  test("the template of a set is held to the same policy", async (t) => {
    if (needsPolicy(t)) return;
    const path = `${sets("team")}?dryRun=All`;
    for (const spec of allowedSpecs) await allowed("POST", path, set(spec));
    for (const [spec, why] of refusedSpecs) await refused(why, "POST", path, set(spec));
    await refused(/spec\.template\.spec\.runAsUser/, "POST", path, set({ ...good, runAsUser: "root" }));
  });

  test("the app of a set is held to the policy with the overrides of its node", async (t) => {
    if (needsPolicy(t)) return;
    const overrides = [{ nodeSelector: { zone: "lab" }, patch: { spec: { runAsUser: "root" } } }];
    const { metadata } = await allowed("POST", sets("team"), set(good, { overrides }));
    const owner = {
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCAppSet",
      name: "web",
      uid: metadata.uid,
      controller: true,
    };
    const made = (spec: object) => {
      const { metadata, ...rest } = app(spec, "web-0");
      return { ...rest, metadata: { ...metadata, ownerReferences: [owner] } };
    };
    await refused(
      /runAsUser: Forbidden: "root"/,
      "POST",
      apps("team"),
      made({ ...good, runAsUser: "root" }),
      controller,
    );
    await allowed("POST", apps("team"), made(good), controller);
    await allowed("PATCH", `${sets("team")}/web`, { spec: { replicas: 2 } });
    const change = (spec: object) => ["PATCH", `${apps("team")}/web-0`, { spec }, controller] as const;
    await refused(/cpuPCT: Forbidden: must be set, to at most 50/, ...change({ cpuPCT: "100" }));
    await refused(/cpuPCT: Forbidden/, ...change({ cpuPCT: "" }));
    await refused(/memPCT: Forbidden/, ...change({ memPCT: null, nodeName: "node-1" }));
    await refused(/runAsUser: Forbidden/, ...change({ runAsUser: "root" }));
    await allowed(...change({ cpuPCT: "30", nodeName: "node-1" }));
  });

  test("only the scheduler chooses a node; a node may be cleared", async (t) => {
    if (needsPolicy(t)) return;
    const why = /spec\.nodeName: Forbidden: only the scheduler chooses the node/;
    await refused(why, "POST", apps("team"), app({ ...good, nodeName: "node-1" }));
    await allowed("POST", apps("team"), app(good, "placed"));
    await refused(why, "PATCH", `${apps("team")}/placed`, { spec: { nodeName: "node-1" } });
    await allowed("PATCH", `${apps("team")}/placed`, { spec: { nodeName: "node-1" } }, controller);
    await refused(why, "PATCH", `${apps("team")}/placed`, { spec: { nodeName: "node-2" } });
    await allowed("PATCH", `${apps("team")}/placed`, { spec: { cpuPCT: "30" } });
    await allowed("PATCH", `${apps("team")}/placed`, { spec: { nodeName: null } });
  });

  test("an app from before the policy can be suspended and bound, but neither changed nor resumed", async (t) => {
    if (needsPolicy(t)) return;
    await cluster.kubectl(["create", "namespace", "old"]);
    await allowed("POST", apps("old"), app({ shellFile: "/bin/sh", args: ["-c", "id"] }, "legacy"));
    await cluster.apply({
      ...app({ users: ["team"] }, "p"),
      kind: "NCAppPolicy",
      metadata: { name: "p", namespace: "old" },
    });
    await waitFor("the policy counts", async () => (await create(apps("old"), app({}))).status === 403);
    const path = `${apps("old")}/legacy`;
    await allowed("PATCH", path, { metadata: { labels: { a: "b" } } });
    await allowed("PATCH", path, { spec: { nodeName: "node-1", cpuPCT: "10" } }, controller);
    await refused(/runAsUser/, "PATCH", path, { spec: { cpuPCT: "100" } }, controller);
    await allowed("PATCH", path, { spec: { suspend: true } });
    await refused(/runAsUser/, "PATCH", path, { spec: { suspend: false } });
    await refused(/runAsUser/, "PATCH", path, { spec: { args: ["-c", "id; id"] } });
    await allowed("DELETE", path);
  });

  test("a tenant with edit reads apps and policies, and writes neither unless an admin grants nckubelet-edit", async (t) => {
    if (needsPolicy(t)) return;
    // The controller manager aggregates roles.
    await waitFor(
      "view has the role",
      async () => (await send("GET", apps("team"), undefined, "viewer")).status === 200,
    );
    for (const user of [tenant, "viewer"]) {
      for (const path of [apps("team"), sets("team"), policies("team")]) {
        await allowed("GET", path, undefined, user);
      }
      await refused(/cannot list resource/, "GET", apps("free"), undefined, user);
    }
    await refused(/cannot create resource "ncapps"/, "POST", apps("team"), app(good, "mine"), tenant);
    await cluster.kubectl([
      "-n",
      "team",
      "create",
      "rolebinding",
      "apps",
      "--clusterrole=nckubelet-edit",
      `--user=${tenant}`,
    ]);
    await waitFor(
      "the role counts",
      async () => (await create(apps("team"), app(good, "mine"), tenant)).status === 201,
    );
    await refused(/runAsUser/, "POST", apps("team"), app({ ...good, runAsUser: "root" }, "mine"), tenant);
    await refused(/cannot patch resource "ncapppolicies"/, "PATCH", `${policies("team")}/tenant`, {
      spec: { users: ["root"] },
    }, tenant);
    await refused(
      /cannot delete resource "ncapppolicies"/,
      "DELETE",
      `${policies("team")}/tenant`,
      undefined,
      tenant,
    );
  });
});

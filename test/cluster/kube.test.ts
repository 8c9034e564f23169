/** The client, list, watch and Leases on a real API server. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import type { NCApp } from "../../src/api/types.ts";
import { type AccessOptions, loadAccess } from "../../src/kube/access/access.ts";
import { type ClientOptions, createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import { renewLease } from "../../src/kube/lease.ts";
import { ncappPath, ncapps } from "../../src/kube/resources.ts";
import { type FollowOptions, listAll } from "../../src/kube/watch/watch.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { createApp } from "../harness/create-app.ts";
import { withForwarder } from "../harness/forwarder.ts";
import { installCRD } from "../harness/install-crd.ts";
import { findControlPlane, skipUnless } from "../harness/parts.ts";
import { type Event, follow, type Follower } from "../kube/follower.ts";
import { tempFolder } from "../temp-folder.ts";

const crdName = "crd/ncapps.app.example.com";

describe("src/kube on a real API server", { skip: skipUnless("control-plane"), timeout: 300_000 }, () => {
  let cluster: Cluster;
  let admin: KubeClient;
  const followers: Follower[] = [];

  before(async () => {
    cluster = await startControlPlane();
    await installCrd();
    admin = await clientOf({ kubeconfig: cluster.kubeconfig });
  });
  after(() => cluster?.stop());
  afterEach(async () => {
    await Promise.all(followers.splice(0).map((follower) => follower.stop()));
    await cluster.kubectl(["delete", "ncapps", "--all", "--wait=true"], { allowFail: true });
  });

  const installCrd = () => installCRD(cluster, { only: ["ncapp.yaml"] });
  const following = (client = admin, options: Partial<FollowOptions<NCApp>> = {}) => {
    const follower = follow(client, { backoff: { next: () => 100, reset() {} }, ...options });
    followers.push(follower);
    return follower;
  };
  const create = (name: string, nodeName = "node-a") =>
    createApp(admin, name, { shellFile: "/bin/true", nodeName });
  const patch = (name: string, spec: Partial<NCApp["spec"]>) =>
    admin.request<NCApp>({ method: "PATCH", path: ncappPath("default", name), body: { spec } });
  const remove = (name: string) => admin.request({ method: "DELETE", path: ncappPath("default", name) });

  test("a token, a client certificate and kubectl proxy all give access", async () => {
    const group = ["system:masters"];
    const ways: AccessOptions[] = [
      { kubeconfig: cluster.kubeconfig },
      { kubeconfig: await cluster.certificateKubeconfigFor({ name: "root", groups: group }) },
    ];
    for (const way of ways) {
      const client = await clientOf(way);
      const { gitVersion } = await client.request<{ gitVersion: string }>({ path: "/version" });
      assert.equal(gitVersion, cluster.version.gitVersion);
      await listAll(client, { resource: ncapps });
    }
    await withKubectlProxy(cluster.kubeconfig, async (server) => {
      const follower = following(await clientOf({ server }));
      await follower.next("listed");
      await follower.next("alive");
      await create("through-proxy");
      assert.equal((await follower.next("applied")).object.metadata.name, "through-proxy");
    });
  });

  test("a merged KUBECONFIG gives access, and impersonation gives the rights of another user and group", async () => {
    using temp = tempFolder();
    const listAs = async (as: object) => {
      const [users, clusters] = ["users", "clusters"].map((name) => join(temp.path, name));
      const user = { token: cluster.adminToken, ...as };
      const contexts = [{ name: "c", context: { cluster: "k", user: "u" } }];
      const reached = { server: cluster.server, "certificate-authority": cluster.caFile };
      await writeFile(
        users!,
        JSON.stringify({ "current-context": "c", contexts, users: [{ name: "u", user }] }),
      );
      // The second file's user of the same name is ignored.
      const other = { users: [{ name: "u", user: { token: "s3cret" } }], "current-context": "other" };
      await writeFile(clusters!, JSON.stringify({ clusters: [{ name: "k", cluster: reached }], ...other }));
      const client = await clientOf({ kubeconfig: `${users}:${clusters}` });
      await listAll(client, { resource: ncapps });
    };
    await listAs({});
    await assert.rejects(listAs({ as: "jane", "as-groups": ["dev"] }), /403 .*User "jane" cannot list/);
    await listAs({
      as: "jane",
      "as-groups": ["dev", "system:masters"],
      "as-user-extra": { "example.com/a b": ["x"] },
    });
  });

  test("a user who may not list gets the server's message, without the token", async () => {
    const stranger = await clientOf({ kubeconfig: await cluster.kubeconfigFor("stranger") });
    const { during, error } = await following(stranger).next("problem");
    assert.deepEqual([during, error.status, error.reason], ["list", 403, "Forbidden"]);
    assert.match(
      error.message,
      /403 Forbidden: ncapps\.app\.example\.com is forbidden: User "stranger" cannot list/,
    );
    assert.ok(!error.message.includes(cluster.tokenFor("stranger")));
    using temp = tempFolder();
    const forged = join(temp.path, "config");
    const config = await readFile(cluster.kubeconfig, "utf8");
    await writeFile(forged, config.replaceAll(cluster.adminToken, "s3cret"));
    const unknown = await clientOf({ kubeconfig: forged });
    assert.equal((await following(unknown).next("problem")).error.status, 401);
  });

  test("creation, change, move and deletion are reported in order", async () => {
    await create("first");
    const follower = following();
    assert.deepEqual(names(await follower.next("listed")), ["first"]);
    await follower.next("alive");
    await create("elsewhere", "node-b");
    await create("second");
    await patch("second", { args: ["größe 世界 🦀"] });
    await patch("first", { nodeName: "node-b" });
    await remove("second");
    assert.equal((await follower.next("applied")).object.metadata.name, "second");
    assert.deepEqual((await follower.next("applied")).object.spec.args, ["größe 世界 🦀"]);
    assert.equal((await follower.next("deleted")).object.metadata.name, "first");
    assert.equal((await follower.next("deleted")).object.metadata.name, "second");
  });

  test("a name that is deleted and recreated is reported with both uids", async () => {
    const follower = following();
    await follower.next("listed");
    await follower.next("alive");
    const uids: (string | undefined)[] = [];
    for (let i = 0; i < 10; i++) {
      uids.push((await create("again")).metadata.uid);
      await remove("again");
    }
    const told: string[] = [];
    for (let i = 0; i < 10; i++) {
      told.push((await follower.next("applied")).object.metadata.uid);
      assert.equal((await follower.next("deleted")).object.metadata.uid, told.at(-1));
    }
    assert.deepEqual(told, uids);
  });

  test("the field selector is used if the server has selectable fields, else dropped", async (t) => {
    await Promise.all([create("mine"), create("theirs", "node-b")]);
    const codes: string[] = [];
    const client = await clientOf({ kubeconfig: cluster.kubeconfig }, {
      onRequest: ({ verb, code }) => codes.push(`${verb} ${code}`),
    });
    const follower = following(client, { fieldSelector: "spec.nodeName=node-a" });
    assert.deepEqual(names(await follower.next("listed")), ["mine"]);
    await follower.next("alive");
    const selectable = cluster.has("selectable-fields");
    if (!selectable) {
      t.diagnostic(`not covered: selectable fields, which ${cluster.version.gitVersion} has not`);
    }
    assert.deepEqual(codes, selectable ? ["list 200", "watch 200"] : ["list 400", "list 200", "watch 200"]);
    await patch("mine", { nodeName: "node-b" });
    assert.equal((await follower.next("deleted")).object.metadata.name, "mine");
  });

  test("a list in pages is complete", async () => {
    const all = Array.from({ length: 25 }, (_, i) => `app-${String(i).padStart(2, "0")}`);
    await Promise.all(all.map((name, i) => create(name, i % 5 === 0 ? "node-a" : "node-b")));
    const { items } = await listAll<NCApp>(admin, { resource: ncapps, pageSize: 10 });
    assert.deepEqual(items.map(({ metadata }) => metadata.name), all);
    assert.equal(names(await following(admin, { pageSize: 7 }).next("listed")).length, 5);
  });

  test("a Lease is created, renewed, and renewed after another client wrote it", async () => {
    const claim = { namespace: "kube-node-lease", name: "nckubelet-node-a", holder: "node-a", seconds: 40 };
    await admin.request({
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: claim.namespace } },
    }).catch((error) => assert.match(error.message, /already exists/));
    const created = await renewLease(admin, claim);
    const renewed = await renewLease(admin, claim, { last: created });
    assert.equal(renewed?.spec?.acquireTime, created?.spec?.acquireTime);
    await renewLease(admin, { ...claim, holder: "node-b" });
    const back = await renewLease(admin, claim, { last: renewed });
    assert.deepEqual([back?.spec?.holderIdentity, back?.spec?.leaseTransitions], ["node-a", 2]);
  });

  test("a paused API server is a problem, and nothing is lost when it resumes", async () => {
    const client = await clientOf({ kubeconfig: cluster.kubeconfig }, {
      timeoutMs: 500,
      connectTimeoutMs: 500,
    });
    const follower = following(client, { silenceMs: 500 });
    await follower.next("listed");
    await follower.next("alive");
    await cluster.apiServer.pause();
    try {
      assert.match((await follower.next("problem")).error.reason, /Timeout|Unreachable/);
    } finally {
      cluster.apiServer.resume();
    }
    await create("after-pause");
    const event = await follower.nextOutcome();
    assert.deepEqual([event.type, event.type === "applied" && event.object.metadata.name], [
      "applied",
      "after-pause",
    ]);
  });

  test("a killed API server removes no app, and changes are reported once it is back", async () => {
    await create("kept");
    const follower = following();
    assert.deepEqual(names(await follower.next("listed")), ["kept"]);
    await follower.next("alive");
    await cluster.apiServer.kill("SIGKILL");
    assert.equal((await follower.next("problem")).during, "watch");
    const seen = outcomeWith(follower, ["kept"], "new");
    await cluster.apiServer.start();
    await create("new");
    assert.deepEqual(await seen, ["kept", "new"]);
  });

  test("a version that etcd compacted leads to exactly one list", async () => {
    await create("old");
    await withForwarder(Number(new URL(cluster.server).port), async ({ port, close, open }) => {
      const answers: string[] = [];
      const way = { kubeconfig: cluster.kubeconfig, server: `https://127.0.0.1:${port}` };
      const client = await clientOf(way, { onRequest: ({ verb, code }) => code && answers.push(verb) });
      const follower = following(client);
      assert.deepEqual(names(await follower.next("listed")), ["old"]);
      await follower.next("alive");
      close();
      await follower.next("problem");
      answers.length = 0;

      await remove("old");
      await create("new");
      await create("newest");
      await cluster.compact();
      // A running API server still has the old versions in its own cache.
      await cluster.apiServer.kill("SIGKILL");
      await cluster.apiServer.start();
      open();
      const event = await follower.nextOutcome();
      assert.deepEqual(event.type === "listed" && names(event), ["new", "newest"]);
      await follower.next("alive");
      await create("after");
      assert.equal((await follower.next("applied")).object.metadata.name, "after");
      // A server that still fills its cache, or fails, is asked again.
      assert.deepEqual(answers.filter((verb) => verb === "list"), ["list"], answers.join());
      assert.equal(follower.restarts.filter((reason) => reason === "expired").length, 1);
      client.close();
    });
  });

  test("deleting the CRD deletes its apps; without it nothing changes; with it again everything continues", async () => {
    await create("doomed");
    const follower = following();
    assert.deepEqual(names(await follower.next("listed")), ["doomed"]);
    await follower.next("alive");
    await cluster.kubectl(["delete", crdName, "--wait=true"]);
    assert.equal((await follower.nextOutcome()).type, "deleted");
    let problem = await follower.next("problem");
    while (problem.error.status !== 404) problem = await follower.next("problem");
    await installCrd();
    const seen = outcomeWith(follower, [], "reborn");
    await create("reborn");
    assert.deepEqual(await seen, ["reborn"]);
  });
});

async function clientOf(way: AccessOptions, options: ClientOptions = {}): Promise<KubeClient> {
  return createKubeClient(await loadAccess(way), options);
}

const names = ({ items }: Event<"listed">) => items.map(({ metadata }) => metadata.name).sort();

/** Follows until the app exists, and returns the names of all apps then. Apps reported as deleted are missing. */
async function outcomeWith(follower: Follower, before: string[], name: string): Promise<string[]> {
  const there = new Set(before);
  for (;;) {
    const event = await follower.nextOutcome();
    if (event.type === "listed") {
      there.clear();
      names(event).forEach((name) => there.add(name));
    } else if (event.type === "applied") there.add(event.object.metadata.name);
    else if (event.type === "deleted") there.delete(event.object.metadata.name);
    if (there.has(name)) return [...there].sort();
  }
}

async function withKubectlProxy(kubeconfig: string, use: (server: string) => Promise<void>) {
  const parts = findControlPlane();
  if ("missing" in parts) throw new Error(parts.missing);
  const proxy: ChildProcess = spawn(parts.kubectl, [`--kubeconfig=${kubeconfig}`, "proxy", "--port=0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [hello] = await once(proxy.stdout!, "data");
    await use(`http://${/127\.0\.0\.1:\d+/.exec(String(hello))![0]}`);
  } finally {
    proxy.kill();
    await once(proxy, "exit");
  }
}

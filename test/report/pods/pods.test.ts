import assert from "node:assert/strict";
import { test } from "node:test";
import { buildPolicies } from "../../../src/api/install/install.ts";
import { applyDefaults } from "../../../src/api/validate/validate.ts";
import type { NCApp, NCAppSpec, NCAppStatus } from "../../../src/api/types.ts";
import { nodes, pods as podResource } from "../../../src/kube/resources.ts";
import type { FollowPodsOptions } from "../../../src/report/pods/follow-pods.ts";
import { newPod } from "../../../src/report/pods/pod-object.ts";
import { createPods, type PodsOptions, type ShownApp } from "../../../src/report/pods/pods.ts";
import { ncapp } from "../../builders.ts";
import { type Asked, FakeApi, problem } from "../../kube/fake-api.ts";
import { FakeClock } from "../fake-clock.ts";
import { createTestLog } from "../test-log.ts";

const folder = "/api/v1/namespaces/default/pods";
const size = { cpus: 4, memoryBytes: 8_000_000_000 };
const running: NCAppStatus = { phase: "Running", startTime: "2030-01-01T00:00:00Z", ready: true };

const shown = (
  name: string,
  status: NCAppStatus = running,
  { spec = {}, metadata = {}, mirror }: {
    spec?: NCAppSpec;
    metadata?: Partial<NCApp["metadata"]>;
    mirror?: string;
  } = {},
): ShownApp => {
  const app = ncapp({ metadata: { name, ...metadata } });
  const owner = { namespace: app.metadata.namespace, name: mirror ?? name, uid: app.metadata.uid };
  return { owner, app: { ...app, spec: applyDefaults(spec) }, status, started: true };
};

function setUp(options: Partial<PodsOptions> = {}) {
  const api = new FakeApi();
  const clock = new FakeClock();
  const log = createTestLog();
  let server: FollowPodsOptions | undefined;
  const pods = createPods({
    client: api.client,
    node: "n1",
    size,
    log,
    clock,
    random: () => 0.5,
    follow: (given) => (server = given, Promise.resolve()),
    ...options,
  });
  /** What a list and a watch deliver. */
  const listed = () =>
    server!.onListed({
      type: "listed",
      items: structuredClone([...api.objects.values()].filter(({ spec }) => spec.nodeName === "n1")),
      resourceVersion: "9000",
    });
  const changed = (name: string) => server!.onApplied(structuredClone(api.get(`${folder}/${name}`)));
  const register = async () => {
    pods.nodeSeen({ registered: true, addresses: ["192.0.2.1"] });
    listed();
    await clock.advance(0);
  };
  return { api, clock, log, pods, listed, changed, register, following: () => server };
}

/** The same, with the Pod of one app. */
async function showWeb() {
  const scene = setUp();
  await scene.register();
  scene.pods.show(shown("web"));
  await scene.clock.advance(0);
  return scene;
}

test("a new app costs two requests: the Pod and its state", async () => {
  const { api, clock, pods, register } = setUp();
  await register();
  pods.show(shown("web", { phase: "Pending" }));
  pods.show(shown("web", { phase: "Starting" }));
  await clock.advance(100);
  assert.deepEqual(api.takeAsked(), [], "nothing disturbs the start");
  pods.show(shown("web"));
  await clock.advance(1000);
  pods.show(shown("web", { ...running, cpuPCT: "7.0" }));
  await clock.advance(60_000);
  assert.deepEqual(api.takeAsked(), [`POST ${folder}`, `PATCH ${folder}/web/status`]);
  const { status, metadata } = api.get(`${folder}/web`);
  assert.deepEqual([status.phase, status.podIP, metadata.ownerReferences[0].uid], [
    "Running",
    "192.0.2.1",
    "uid-web",
  ]);
});

test("a start that takes long is shown", async () => {
  const { api, clock, pods, register } = setUp();
  await register();
  pods.show(shown("web", { phase: "Starting", reason: "Starting" }));
  await clock.advance(1000);
  assert.equal(api.get(`${folder}/web`).status.containerStatuses[0].state.waiting.reason, "Starting");
});

test("nothing is written before the list, on a kubelet's Node, and while another agent acts for the node", async () => {
  let isActing = false;
  const { api, clock, pods, listed, following, register } = setUp({ isActing: () => isActing });
  pods.show(shown("web"));
  pods.nodeSeen({ registered: false, addresses: [] });
  await clock.advance(60_000);
  assert.equal(following(), undefined);
  await register();
  assert.deepEqual(api.takeAsked(), []);
  isActing = true;
  listed();
  await clock.advance(0);
  assert.deepEqual(api.takeAsked().length, 2);
  pods.nodeSeen({ registered: false, addresses: [] });
  assert.equal(following()!.signal.aborted, true);
  pods.show(shown("web", { phase: "Stopping" }));
  await clock.advance(60_000);
  assert.deepEqual(api.takeAsked(), []);
});

test("an agent that restarts finds its Pods and writes nothing; that of an app that is gone goes when all apps are known", async () => {
  const before = setUp();
  await before.register();
  for (const name of ["web", "old"]) before.pods.show(shown(name));
  await before.clock.advance(0);

  const { api, clock, pods, register } = setUp({ client: before.api.client });
  for (const [path, pod] of before.api.objects) api.objects.set(path, pod);
  before.api.takeAsked();
  await register();
  pods.show(shown("web"));
  await clock.advance(60_000);
  assert.deepEqual(before.api.takeAsked(), [], "the other app may still come");
  pods.complete();
  await clock.advance(0);
  assert.deepEqual(before.api.takeAsked(), [`DELETE ${folder}/old`]);
});

test("a Pod that a user deletes is removed at once, by its uid, and made again", async () => {
  const { api, clock, changed, following } = await showWeb();
  const { metadata: { uid } } = api.touch(
    `${folder}/web`,
    ({ metadata }) => metadata.deletionTimestamp = "x",
  );
  const [deleted] = [structuredClone(api.get(`${folder}/web`))];
  api.takeAsked();
  changed("web");
  await clock.advance(0);
  const { body } = api.asked[0] as Asked;
  assert.deepEqual([body.gracePeriodSeconds, body.preconditions], [0, { uid, resourceVersion: undefined }]);
  assert.deepEqual(api.takeAsked(), [`DELETE ${folder}/web`], "the watch says when it is gone");
  following()!.onDeleted(deleted);
  await clock.advance(0);
  assert.deepEqual(api.takeAsked(), [`POST ${folder}`, `PATCH ${folder}/web/status`]);
  assert.notEqual(api.get(`${folder}/web`).metadata.uid, uid);
});

test("a Pod that cannot be deleted, since it has a finalizer, is tried every ten seconds", async () => {
  const { api, clock, changed } = await showWeb();
  api.intercept = ({ method }) => method === "DELETE" ? api.get(`${folder}/web`) : undefined;
  api.touch(`${folder}/web`, ({ metadata }) => metadata.deletionTimestamp = "x");
  api.takeAsked();
  changed("web");
  await clock.advance(25_000);
  assert.deepEqual(api.takeAsked(), Array(3).fill(`DELETE ${folder}/web`));
});

test("an app that is gone loses its Pod before all apps are known", async () => {
  const { api, clock, pods } = await showWeb();
  pods.remove("default/web");
  await clock.advance(0);
  assert.equal(api.objects.size, 0);
});

test("an app that goes while its Pod is being created leaves none", async () => {
  const { api, clock, pods, register } = setUp();
  await register();
  const answered = Promise.withResolvers<undefined>();
  api.intercept = ({ method }) => method === "POST" ? answered.promise : undefined;
  pods.show(shown("web"));
  await clock.advance(0);
  pods.remove("default/web");
  answered.resolve(undefined);
  await clock.advance(0);
  assert.deepEqual(api.takeAsked(), [`POST ${folder}`, `DELETE ${folder}/web`]);
});

test("a name that another Pod has is left to it, and one on the app's earlier node gets time to go", async () => {
  const { api, clock, log, pods, register } = setUp();
  api.add(
    podResource,
    { metadata: { namespace: "default", name: "web" }, spec: { nodeName: "n2" } } as object,
  );
  const ownerReferences = [{
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCApp",
    name: "moved",
    uid: "uid-moved",
  }];
  const earlier = {
    metadata: { namespace: "default", name: "moved", ownerReferences },
    spec: { nodeName: "n2" },
  };
  api.add(podResource, earlier as object);
  pods.nodeSeen({ registered: true, addresses: [] });
  await register();
  pods.show(shown("web"));
  pods.show(shown("moved"));
  await clock.advance(5000);
  const other = pods.podOf("default/web")?.name;
  assert.match(other ?? "", /^web-[0-9a-f]{5}$/);
  assert.equal(pods.podOf("default/moved")?.name, undefined);
  api.objects.delete(`${folder}/moved`);
  await clock.advance(20_000);
  assert.equal(pods.podOf("default/moved")?.name, "moved");
  assert.deepEqual(pods.appOfPod("default", other!), { namespace: "default", name: "web" });
  assert.match(log.text(), /another Pod has the name of an app/);
});

test("a namespace that refuses Pods is logged once and asked again after five minutes, and others are not delayed", async () => {
  const { api, clock, log, pods, register } = setUp();
  api.intercept = (request) => {
    if (request.path.includes("/default/")) throw problem(request, 403, "Forbidden", "exceeded quota: none");
  };
  await register();
  for (const name of ["a", "b", "c", "d"]) pods.show(shown(name));
  pods.show(shown("e", running, { metadata: { namespace: "shop" } }));
  await clock.advance(301_000);
  assert.equal(api.asked.filter(({ path }) => path === folder).length, 4, "two at the same time, twice");
  assert.equal(pods.podOf("shop/e")?.name, "e");
  assert.deepEqual(log.lines, ["info this namespace refuses Pods: kubectl does not show its apps as Pods"]);
  api.intercept = () => undefined;
  await clock.advance(300_000);
  assert.deepEqual(["a", "b", "c", "d"].map((name) => pods.podOf(`default/${name}`)?.name), [
    "a",
    "b",
    "c",
    "d",
  ]);
});

test("a server that refuses for moments is asked again after 1, 2, 4 … s, and a stopped app loses its endpoint then", async () => {
  const { api, clock, pods } = await showWeb();
  api.takeAsked();
  let refusing = true;
  api.intercept = (request) => {
    if (refusing) {
      throw problem(request, 403, "Forbidden", 'User "nckubelet:n1" cannot patch resource "pods/status"');
    }
  };
  pods.show(shown("web", { phase: "Stopping" }));
  await clock.advance(7000);
  assert.equal(api.takeAsked().length, 4, "at 0, 1, 3 and 7 s");
  refusing = false;
  await clock.advance(8000);
  const ready = api.get(`${folder}/web`).status.conditions.find(({ type }: { type: string }) =>
    type === "Ready"
  );
  assert.equal(ready.status, "False");
  await clock.advance(600_000);
  refusing = true;
  api.takeAsked();
  pods.show(shown("web"));
  await clock.advance(300_000);
  const asked = api.takeAsked().length;
  assert.ok(asked >= 12 && asked <= 15, `every 30 s at last: ${asked}`);
});

test("a Pod that is no longer ready goes before all other changes", async () => {
  const { api, clock, pods, register } = setUp();
  await register();
  for (const name of ["a", "b", "c", "web"]) pods.show(shown(name));
  await clock.advance(0);
  api.takeAsked();
  let answer = () => {};
  const held = new Promise<void>((resolve) => answer = resolve);
  api.intercept = () => held;
  for (const name of ["a", "b", "c"]) pods.show(shown(name, { ...running, restarts: 1 }));
  pods.show(shown("web", { phase: "Stopping" }));
  answer();
  await clock.advance(0);
  assert.equal(api.takeAsked()[2], `PATCH ${folder}/web/status`, "two were in flight");
});

test("Pod Security that refuses one app refuses no other, and the app is told until it has a Pod", async () => {
  const changes: string[] = [];
  const scene = setUp({ onRefusal: (key) => changes.push(`${key} ${scene.pods.refusalOf(key)?.reason}`) });
  const { api, clock, pods, register } = scene;
  const why = 'pods "root" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true';
  api.intercept = (request) => {
    const { metadata } = request.body as { metadata: { name?: string } };
    if (request.method === "POST" && metadata.name === "root") throw problem(request, 403, "Forbidden", why);
  };
  await register();
  pods.show(shown("root"));
  pods.show(shown("user", running, { spec: { runAsUser: "web" } }));
  await clock.advance(299_000);
  assert.equal(api.takeAsked().filter((request) => request.startsWith("POST")).length, 2);
  assert.deepEqual([pods.podOf("default/root"), pods.podOf("default/user")?.name], [undefined, "user"]);
  assert.match(pods.refusalOf("default/root")?.message ?? "", /violates PodSecurity/);
  api.intercept = () => undefined;
  await clock.advance(2000);
  assert.equal(pods.podOf("default/root")?.name, "root");
  assert.deepEqual(changes, ["default/root PodSecurity", "default/root undefined"]);
});

test("what a server refuses for moments is not worth a word, what it refuses for a minute is", async () => {
  const { api, clock, pods, register } = setUp();
  api.intercept = (request) => {
    if (request.method === "POST") throw problem(request, 403, "Forbidden", "cannot create resource");
  };
  await register();
  pods.show(shown("web"));
  await clock.advance(40_000);
  assert.equal(pods.refusalOf("default/web"), undefined);
  await clock.advance(60_000);
  assert.equal(pods.refusalOf("default/web")?.reason, "PodForbidden");
  pods.remove("default/web");
  assert.equal(pods.refusalOf("default/web"), undefined);
});

test("a namespace that wants no Pods of apps is asked every five minutes, and the app says so", async () => {
  const { api, clock, pods, register } = setUp();
  const [message] = /an agent shows no app as a Pod in a namespace without the label [^"]+/.exec(
    JSON.stringify(buildPolicies("labelled")),
  )!;
  let asked = 0;
  api.intercept = (request) => {
    if (request.method !== "POST") return;
    asked++;
    throw problem(
      request,
      403,
      "Forbidden",
      `ValidatingAdmissionPolicy 'x' with binding 'x' denied request: ${message}`,
    );
  };
  await register();
  pods.show(shown("web"));
  await clock.advance(290_000);
  assert.deepEqual([asked, pods.refusalOf("default/web")?.reason], [1, "NamespaceWithoutPods"]);
  await clock.advance(20_000);
  assert.equal(asked, 2);
});

test("a quota that has no room for another Pod does not delay changes of those that are there", async () => {
  const { api, clock, pods, register } = setUp();
  await register();
  pods.show(shown("a"));
  pods.show(shown("b"));
  await clock.advance(0);
  api.intercept = (request) => {
    if (request.method === "POST") throw problem(request, 403, "Forbidden", "exceeded quota: none");
  };
  pods.show(shown("c"));
  await clock.advance(0);
  api.takeAsked();
  pods.show(shown("a", { ...running, ready: false }));
  pods.remove("default/b");
  await clock.advance(1000);
  assert.deepEqual(api.takeAsked().sort(), [`DELETE ${folder}/b`, `PATCH ${folder}/a/status`]);
});

test("a change that the server rejects replaces the Pod, once", async () => {
  const { api, clock, pods, following } = await showWeb();
  api.takeAsked();
  const old = structuredClone(api.get(`${folder}/web`));
  api.intercept = ({ path }) => path.endsWith("/status") ? 422 : undefined;
  pods.show(shown("web", { phase: "BackOff" }));
  await clock.advance(0);
  following()!.onDeleted(old);
  await clock.advance(20_000);
  const asked = api.takeAsked();
  assert.deepEqual(asked.slice(0, 3), [
    `PATCH ${folder}/web/status`,
    `DELETE ${folder}/web`,
    `POST ${folder}`,
  ]);
  assert.ok(asked.slice(3).every((request) => request === `PATCH ${folder}/web/status`), String(asked));
  assert.ok(asked.length < 12, "with growing waits");
});

test("a state that the server stores in another form is not sent again", async () => {
  const { api, clock, pods, register, changed } = setUp();
  await register();
  api.intercept = ({ method, path, body }) => {
    if (method !== "PATCH" || !path.endsWith("/status")) return undefined;
    return api.touch(`${folder}/web`, (pod) => pod.status = { ...body.status, phase: "Odd" });
  };
  pods.show(shown("web"));
  await clock.advance(0);
  changed("web");
  await clock.advance(60_000);
  assert.equal(api.takeAsked().length, 2);
});

test("a label that a webhook of the cluster adds to every Pod is removed once, not again and again", async () => {
  const { api, clock, pods, register, changed } = setUp();
  await register();
  const inject = (path: string) => api.touch(path, ({ metadata }) => metadata.labels = { team: "x" });
  api.intercept = ({ method, path }) =>
    method === "PATCH" && !path.endsWith("/status") ? inject(path) : undefined;
  pods.show(shown("web"));
  await clock.advance(0);
  api.takeAsked();
  inject(`${folder}/web`);
  changed("web");
  await clock.advance(60_000);
  assert.deepEqual(api.takeAsked(), [`PATCH ${folder}/web`]);
  pods.show(shown("web", { ...running, ready: false }));
  await clock.advance(60_000);
  assert.deepEqual(api.takeAsked(), [`PATCH ${folder}/web/status`]);
  pods.show(shown("web", { ...running, ready: false }, { metadata: { labels: { app: "web" } } }));
  await clock.advance(60_000);
  assert.deepEqual(api.takeAsked(), [`PATCH ${folder}/web`]);
});

test("a patch removes what a condition and the Pod no longer have: the server merges them by field", async () => {
  const { api, clock, pods, register } = setUp();
  await register();
  pods.show(shown("web", { ...running, phase: "Stopping", ready: false }));
  await clock.advance(0);
  pods.show(shown("web"));
  await clock.advance(0);
  const { status } = api.asked.at(-1)!.body;
  assert.deepEqual([status.reason, status.message], [null, null]);
  const { type, reason, message } = status.conditions.at(-1);
  assert.deepEqual([type, reason, message], ["Ready", null, null]);
});

test("a new address of the node reaches every Pod", async () => {
  const { api, clock, pods } = await showWeb();
  pods.nodeSeen({ registered: true, addresses: ["192.0.2.9", "2001:db8::9"] });
  await clock.advance(0);
  const { podIP, podIPs } = api.get(`${folder}/web`).status;
  assert.deepEqual([podIP, podIPs], ["192.0.2.9", [{ $patch: "replace" }, { ip: "192.0.2.9" }, {
    ip: "2001:db8::9",
  }]]);
});

test("the Pod of a local app belongs to its mirror, and leads to the app", async () => {
  const { api, clock, pods, register } = setUp();
  await register();
  pods.show(shown("web", running, { mirror: "web-n1" }));
  await clock.advance(0);
  assert.equal(api.get(`${folder}/web-n1`).metadata.ownerReferences[0].name, "web-n1");
  assert.deepEqual(pods.appOfPod("default", "web-n1"), { namespace: "default", name: "web" });
  assert.equal(pods.podOf("default/web")?.name, "web-n1");
  pods.show(shown("web"));
  await clock.advance(0);
  assert.deepEqual([...api.objects.keys()], [`${folder}/web`], "the mirror got another name");
});

test("podList() has whole Pods with the uid that the server gave them", async () => {
  const { api, pods } = await showWeb();
  const [pod, ...others] = pods.podList();
  assert.equal(others.length, 0);
  assert.equal(pod?.metadata?.uid, api.get(`${folder}/web`).metadata.uid);
  assert.deepEqual([pod?.spec?.nodeName, pod?.status?.phase, pod?.kind], ["n1", "Running", "Pod"]);
});

test("with --pods never, the Pods of an earlier agent are deleted and none is made", async () => {
  const { api, clock, pods, register } = setUp({ mode: "never" });
  const earlier = setUp({ client: api.client });
  await earlier.register();
  earlier.pods.show(shown("web"));
  await earlier.clock.advance(0);
  api.takeAsked();
  pods.show(shown("new"));
  await register();
  await clock.advance(0);
  assert.deepEqual(api.takeAsked(), [`DELETE ${folder}/web`]);
});

test("an app in a namespace of Kubernetes has no Pod, which the log says once; one that it had is deleted", async () => {
  const { api, clock, log, pods, register } = setUp();
  const inSystem = (name: string) => shown(name, running, { metadata: { namespace: "kube-system" } });
  const path = "/api/v1/namespaces/kube-system/pods";
  const old = newPod(inSystem("dns"), { name: "n1", size }, "dns");
  api.put(`${path}/dns`, { ...old, metadata: { ...old.metadata, uid: "old", resourceVersion: "1" } });
  await register();
  pods.show(inSystem("dns"));
  pods.show(inSystem("proxy"));
  pods.show(shown("web", running, { metadata: { namespace: "kubernetes-apps" } }));
  pods.complete();
  await clock.advance(1000);
  const asked = api.takeAsked();
  assert.deepEqual(asked.filter((request) => request.includes("kube-system")), [`DELETE ${path}/dns`]);
  assert.ok(asked.includes("POST /api/v1/namespaces/kubernetes-apps/pods"));
  const lines = log.lines.filter((line) => /belongs to Kubernetes/.test(JSON.stringify(line)));
  assert.equal(lines.length, 1);
  assert.equal(pods.podOf("kube-system/dns")?.name, undefined);
});

test("a Pod that is deleted on a cordoned node takes its app along, on another it comes back", async () => {
  for (const cordoned of [true, false]) {
    const left: string[] = [];
    const scene = setUp({ onEvicted: (key) => left.push(key) });
    const { api, clock, pods, changed, register, following } = scene;
    api.add(nodes, { metadata: { name: "n1" }, spec: { unschedulable: cordoned } } as object);
    await register();
    pods.show({ ...shown("web"), movable: true });
    await clock.advance(0);
    api.touch(`${folder}/web`, ({ metadata }) => metadata.deletionTimestamp = "x");
    const deleted = structuredClone(api.get(`${folder}/web`));
    api.takeAsked();
    changed("web");
    await clock.advance(0);
    const asked = api.takeAsked();
    assert.deepEqual(left, cordoned ? ["default/web"] : []);
    assert.equal(pods.isEvicted("default/web"), cordoned);
    assert.deepEqual(asked, [`GET /api/v1/nodes/n1`, ...(cordoned ? [] : [`DELETE ${folder}/web`])]);
    if (!cordoned) following()!.onDeleted(deleted);
    else {
      // A new state does not bring it back; its end removes the Pod.
      pods.show({ ...shown("web", { ...running, phase: "Stopping", ready: false }), movable: true });
      await clock.advance(0);
      assert.deepEqual(api.takeAsked(), [`PATCH ${folder}/web/status`]);
      pods.remove("default/web");
    }
    await clock.advance(0);
    assert.equal(api.takeAsked()[0], cordoned ? `DELETE ${folder}/web` : `POST ${folder}`);
  }
});

test("where Pods that can be evicted are refused for their service account, apps have mirror Pods", async () => {
  const { api, clock, pods, register } = setUp();
  await register();
  api.intercept = (request) => {
    const { method, body } = request;
    if (method !== "POST" || body.metadata.annotations["kubernetes.io/config.mirror"]) return undefined;
    throw problem(request, 403, "Forbidden", "the Pod of an agent has one container, without volumes");
  };
  pods.show({ ...shown("web"), movable: true });
  await clock.advance(0);
  await clock.advance(1000);
  assert.ok(api.get(`${folder}/web`).metadata.annotations["kubernetes.io/config.mirror"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, podMirrorAnnotation } from "../../../src/api/names.ts";
import type { NCApp, NCAppSpec } from "../../../src/api/types.ts";
import { drain, type DrainOptions } from "../../../src/cli/plugin/drain.ts";
import {
  disruptionBudgets,
  ncappPath,
  ncapps,
  ncappsets,
  nodes,
  pods,
  resourcePath,
} from "../../../src/kube/resources.ts";
import { ncapp } from "../../builders.ts";
import { FakeApi, problem } from "../../kube/fake-api.ts";

interface Given {
  spec?: NCAppSpec;
  metadata?: Partial<NCApp["metadata"]>;
  status?: object;
  /** Who set `spec.nodeName`. */
  manager?: string;
}

/** A cluster with the node edge-1 and these apps, which are bound to it, run there and stop when they are unbound. */
function createScene(given: Record<string, Given>) {
  const api = new FakeApi();
  api.add(nodes, { metadata: { name: "edge-1" }, spec: {} } as object);
  for (const [name, { spec, metadata, status, manager = "nckubelet-scheduler" }] of Object.entries(given)) {
    const managedFields = [
      { manager: "kubectl-client-side-apply", fieldsV1: { "f:spec": { "f:shellFile": {} } } },
      { manager, fieldsV1: { "f:spec": { "f:nodeName": {} } } },
    ];
    api.add(
      ncapps,
      ncapp({
        metadata: { name, ...metadata, managedFields } as NCApp["metadata"],
        spec: { nodeName: "edge-1", ...spec },
        status: { phase: "Running", nodeName: "edge-1", ...status },
      }),
    );
  }
  const at = (name: string) => ncappPath("default", name);
  /** Apps that an agent holds until `stop`. */
  const stopping = new Set<string>();
  api.intercept = ({ method, path }) => {
    const app = api.get(path);
    const isStopped = app?.kind === "NCApp" && !app.spec.nodeName && !stopping.has(app.metadata.name);
    if (method === "GET" && isStopped) api.touch(path, (app) => app.status.nodeName = "");
    return undefined;
  };
  const run = async (options: DrainOptions = {}, signal = new AbortController().signal) => {
    const [out, err]: string[][] = [[], []];
    const io = {
      stdout: (text: unknown) => void out!.push(String(text)),
      stderr: (text: string) => void err!.push(text),
      signal,
    };
    const problem = await drain(api.client, "edge-1", { pollMs: 1, timeoutMs: 10_000, ...options }, io)
      .then(() => undefined, (error: Error) => error.message);
    return { out: out!.join("").trim().split("\n"), err: err!.join(""), problem };
  };
  const nodeOf = (name: string) => api.get(at(name)).spec.nodeName;
  const isCordoned = () => api.get("/api/v1/nodes/edge-1").spec.unschedulable === true;
  return { api, at, stopping, run, nodeOf, isCordoned };
}

test("drain cordons the node, unbinds its apps and waits until they have stopped", async () => {
  const { api, at, run, stopping, nodeOf, isCordoned } = createScene({
    web: {},
    other: { spec: { nodeName: "edge-2" }, status: { nodeName: "edge-2" } },
  });
  stopping.add("web");
  let polls = 0;
  const intercept = api.intercept;
  api.intercept = (request) => {
    if (request.method === "GET" && request.path === at("web") && ++polls === 4) stopping.clear();
    return intercept(request);
  };
  const { out, problem } = await run();
  assert.equal(problem, undefined);
  assert.deepEqual(out, [
    "node/edge-1 cordoned",
    "evicting ncapp default/web",
    "ncapp default/web evicted",
    "node/edge-1 drained",
  ]);
  assert.deepEqual([polls, nodeOf("web"), nodeOf("other"), isCordoned()], [4, undefined, "edge-2", true]);
  assert.deepEqual((await run()).out, ["node/edge-1 already cordoned", "node/edge-1 drained"]);
});

test("drain --dry-run changes nothing", async () => {
  const { api, run, nodeOf, isCordoned } = createScene({ web: {} });
  const { out } = await run({ dryRun: true });
  assert.deepEqual(out, [
    "node/edge-1 cordoned (dry run)",
    "evicting ncapp default/web (dry run)",
    "node/edge-1 drained (dry run)",
  ]);
  assert.deepEqual([nodeOf("web"), isCordoned()], ["edge-1", false]);
  assert.ok(api.asked.every(({ method }) => method === "GET"));
});

test("drain unbinds nothing while an app is pinned to the node, unless --force is given", async () => {
  const { run, nodeOf } = createScene({ web: {}, pinned: { manager: "argocd-controller" } });
  assert.equal(
    (await run()).problem,
    "cannot drain node edge-1: these apps are pinned to it: default/pinned " +
      "(spec.nodeName was set by argocd-controller); use --force to unbind them",
  );
  assert.deepEqual([nodeOf("web"), nodeOf("pinned")], ["edge-1", "edge-1"]);
  assert.equal((await run({ force: true })).problem, undefined);
  assert.deepEqual([nodeOf("web"), nodeOf("pinned")], [undefined, undefined]);
});

test("drain leaves mirrors, apps that have ended and apps that tolerate cordoned nodes, and says why", async () => {
  const mark = {
    [annotations.mirror]: "edge-1/0123456789abcdef",
    [annotations.mirrorOf]: "local",
    [annotations.mirrorUid]: "its-uid",
  };
  const { run, nodeOf } = createScene({
    local: { metadata: { uid: "its-uid", annotations: mark } },
    "copy-of-local": { metadata: { uid: "another-uid", annotations: mark } },
    ended: { status: { phase: "Succeeded" } },
    "ended-until-next-time": { status: { phase: "Succeeded" }, spec: { schedule: "0 0 * * *" } },
    tolerant: { spec: { tolerations: [{ operator: "Exists" }] } },
  });
  const { err, problem } = await run();
  assert.equal(problem, undefined);
  assert.deepEqual(err.trim().split("\n"), [
    "warning: ignoring default/local: it comes from the node itself: use 'nckubelet stop' there",
    "warning: ignoring default/ended: it has ended, and would run again elsewhere",
    "warning: ignoring default/tolerant: it tolerates cordoned nodes, and would be bound to the node again",
  ]);
  assert.deepEqual(["local", "ended", "tolerant"].map(nodeOf), ["edge-1", "edge-1", "edge-1"]);
  assert.deepEqual(["copy-of-local", "ended-until-next-time"].map(nodeOf), [undefined, undefined]);
});

test("drain waits for apps that are being deleted or were unbound before", async () => {
  const { api, at, run, stopping } = createScene({
    deleted: { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
    unbound: { spec: { nodeName: undefined } },
  });
  stopping.add("unbound");
  const failed = await run({ timeoutMs: 0 });
  assert.equal(
    failed.problem,
    "timed out after 0 s: node edge-1 is not drained: waiting for default/deleted, default/unbound to stop",
  );
  assert.match(
    (await run({}, AbortSignal.abort())).problem ?? "",
    /^interrupted: node edge-1 is not drained/,
  );
  stopping.clear();
  api.objects.delete(at("deleted"));
  assert.deepEqual((await run()).problem, undefined);
});

test("drain retries after a conflict, and does not unbind an app from the node that it was moved to", async () => {
  const { api, at, run, nodeOf } = createScene({ web: {}, moved: {} });
  let conflicts = 0;
  const intercept = api.intercept;
  api.intercept = (request) => {
    const { method, path } = request;
    if (method === "PATCH" && path === at("web") && conflicts++ < 2) {
      api.touch(path, (app) => app.status.pid = 1);
    }
    if (method === "PATCH" && path === at("moved")) {
      api.touch(path, (app) => {
        app.spec.nodeName = "edge-2";
        app.status.nodeName = "edge-2";
      });
    }
    return intercept(request);
  };
  assert.equal((await run()).problem, undefined);
  assert.deepEqual([nodeOf("web"), nodeOf("moved")], [undefined, "edge-2"]);
});

test("drain names a node that does not exist", async () => {
  const { api, run } = createScene({});
  api.objects.delete("/api/v1/nodes/edge-1");
  assert.equal((await run()).problem, "no Node edge-1; 'kubectl get nodes' lists all");
});

test("drain leaves the app that a set runs on the node, and moves one of a set with replicas", async () => {
  const owner = { apiVersion: "app.example.com/v1alpha1", kind: "NCAppSet", name: "web", uid: "set" };
  const metadata = { ownerReferences: [owner] } as Partial<NCApp["metadata"]>;
  const { run, nodeOf } = createScene({ "web-edge-1": { metadata }, "web-0": { metadata } });
  const { err, problem } = await run();
  assert.equal(problem, undefined);
  assert.match(err, /ignoring default\/web-edge-1: the set web runs one app on each of its nodes/);
  assert.deepEqual([nodeOf("web-edge-1"), nodeOf("web-0")], ["edge-1", undefined]);
});

const setOwner = { apiVersion: "v", kind: "NCAppSet", name: "web", uid: "set-1", controller: true };
const inSet = { metadata: { ownerReferences: [setOwner] } as object, status: { ready: true } };

/** Apps with ready Pods, a budget for all of them, and a set with maxUnavailable 1. */
function createBudgetScene(given: Record<string, Given>, { allowed = 1, mirrors = false } = {}) {
  const scene = createScene(given);
  const { api, at } = scene;
  const names = Object.keys(given);
  api.add(ncappsets, {
    metadata: { namespace: "default", name: "web", uid: "set-1" },
    spec: { update: { maxUnavailable: 1 } },
  } as object);
  const budgetPath = resourcePath(disruptionBudgets, { namespace: "default", name: "web" });
  api.put(budgetPath, {
    spec: { selector: {} },
    status: {
      observedGeneration: 1,
      disruptionsAllowed: allowed,
      currentHealthy: names.length,
      expectedPods: names.length,
    },
  });
  const addPod = (name: string) =>
    void api.add(pods, {
      metadata: {
        namespace: "default",
        name,
        ownerReferences: [{ kind: "NCApp", name, uid: api.get(at(name)).metadata.uid }],
        annotations: mirrors ? { [podMirrorAnnotation]: "x" } : {},
      },
      spec: { nodeName: "edge-1" },
    } as object);
  names.forEach(addPod);
  const evictions: string[] = [];
  const unavailable = () =>
    names.filter((name) => api.get(at(name)).spec.nodeName === undefined || !api.get(at(name)).status.ready);
  const arrive = (name: string) =>
    api.touch(at(name), (app) => (app.spec.nodeName = "edge-2", app.status.nodeName = "edge-2"));
  /** What the API server answers to evictions; undefined: it grants them. Called before each request. */
  const on = { eviction: (_name: string): unknown => undefined, request: () => {} };
  const intercept = api.intercept;
  api.intercept = (request) => {
    on.request();
    const [, name = ""] = /pods\/(.*)\/eviction$/.exec(request.path) ?? [];
    if (!name) return intercept(request);
    const answer = on.eviction(name);
    if (answer === 429) {
      throw problem(request, 429, "TooManyRequests", "it would violate the pod's disruption budget");
    }
    if (answer === undefined) evictions.push(name);
    return answer ?? {};
  };
  return { ...scene, addPod, names, evictions, unavailable, arrive, on, budgetPath };
}

test("drain evicts the Pods of apps, and waits while a budget or maxUnavailable of their set refuses", async () => {
  const { run, nodeOf, evictions, arrive, on } = createBudgetScene({ "web-0": inSet, "web-1": inSet }, {
    allowed: 2,
  });
  let refusals = 1;
  let polls = 0;
  let moving = "";
  on.eviction = (name) => {
    if (refusals-- > 0) return 429;
    moving = name;
    polls = 0;
    return undefined;
  };
  // Its agent and the scheduler are slow: until then it runs, and is bound to the node.
  on.request = () => {
    if (moving && ++polls === 30) arrive(moving);
  };
  const { err, problem: failure } = await run();
  assert.equal(failure, undefined);
  assert.match(err, /waiting to evict ncapp default\/web-0: .*disruption budget/);
  assert.match(
    err,
    /waiting to evict ncapp default\/web-0: 1 apps of the set web are unavailable \(maxUnavailable 1\)/,
  );
  assert.deepEqual(evictions, ["web-1", "web-0"]);
  assert.deepEqual([nodeOf("web-0"), nodeOf("web-1")], ["edge-2", "edge-2"]);
});

test("an app of a set that another client evicts counts as unavailable before it is unbound", async () => {
  const { api, at, run, evictions, arrive, on } = createBudgetScene({ "web-0": inSet, "web-1": inSet });
  api.touch(at("web-0"), (app) => {
    app.spec.nodeName = app.status.nodeName = "edge-2";
    app.status.conditions = [{ type: "DisruptionTarget", status: "True" }];
  });
  let polls = 0;
  on.request = () => {
    if (++polls === 20) api.touch(at("web-0"), (app) => delete app.status.conditions);
  };
  on.eviction = (name) => {
    assert.equal(api.get(at("web-0")).status.conditions, undefined);
    arrive(name);
    return undefined;
  };
  assert.equal((await run()).problem, undefined);
  assert.deepEqual(evictions, ["web-1"]);
});

const ready = { status: { ready: true } };

test("drain reads a Pod that was replaced again, instead of unbinding its app without a budget", async () => {
  for (const status of [404, 409]) {
    const { run, nodeOf, arrive, on, evictions } = createBudgetScene({ web: ready });
    const answers = [status, 429, 429];
    on.eviction = (name) => {
      assert.equal(nodeOf(name), "edge-1");
      const answer = answers.shift();
      if (answer === undefined) arrive(name);
      return answer;
    };
    const { err, problem } = await run();
    assert.equal(problem, undefined);
    assert.match(err, /waiting to evict ncapp default\/web: its Pod is being replaced/);
    assert.match(err, /waiting to evict ncapp default\/web: .*disruption budget/);
    assert.deepEqual(evictions, ["web"]);
  }
});

for (const kind of ["whose Pods stay with the node", "without Pods"]) {
  test(`apps ${kind} are unbound one after the other while the status of their budget is late`, async () => {
    const scene = createBudgetScene({ a: ready, b: ready, c: ready, d: ready, e: ready }, { mirrors: true });
    const { api, run, names, unavailable, arrive, on, nodeOf } = scene;
    if (kind === "without Pods") {
      for (const name of names) api.objects.delete(resourcePath(pods, { namespace: "default", name }));
    }
    let most = 0;
    let polls = 0;
    on.request = () => {
      const gone = unavailable();
      most = Math.max(most, gone.length);
      polls = gone.length > 0 ? polls + 1 : 0;
      // It runs elsewhere; the status of the budget has not changed at all.
      if (polls === 20) arrive(gone[0]!);
    };
    const { problem, err } = await run();
    assert.equal(problem, undefined);
    assert.equal(most, 1);
    assert.match(
      err,
      /waiting to evict ncapp default\/b: the pod disruption budget web allows no disruption now/,
    );
    assert.ok(names.every((name) => nodeOf(name) !== "edge-1"));
  });
}

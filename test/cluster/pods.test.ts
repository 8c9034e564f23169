/**
 * Apps as Pods, among real controllers: an agent with the shipped roles, kubectl, and Services. The requests of the agent are
 * recorded.
 */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { apiVersion, group, kind } from "../../src/api/names.ts";
import type { NCAppSpec } from "../../src/api/types.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { type Pod, stateOf as stateOfStatus } from "../../src/report/pods/pods.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { allowPods, installCRD } from "../harness/install-crd.ts";
import { skipUnlessControllers } from "../harness/parts.ts";
import { type RecordingProxy, startRecordingProxy } from "../harness/recording-proxy.ts";
import { testForeignPods } from "./foreign-pods.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const node = "node-a";
const deadlineMs = 60_000;

describe("apps as Pods", { skip: skipUnlessControllers(), timeout: 300_000 }, () => {
  const opened = new AsyncDisposableStack();
  let cluster: Cluster;
  let proxy: RecordingProxy;
  let agent: AgentProcess;
  let folder = "";

  before(async () => {
    cluster = await startControlPlane({
      controllers: [],
      apiServerFlags: ["--allow-privileged=true"],
      prepare: installCRD,
    });
    opened.defer(() => cluster.stop());
    await allowPods(cluster);
    folder = opened.use(tempFolder()).path;
    proxy = opened.use(await startRecordingProxy(cluster, `nckubelet:${node}`));
    agent = opened.use(await startAgentProcess(["--server", proxy.url, "--node-name", node]));
  });
  after(() => opened.disposeAsync());

  const create = (object: object) =>
    cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });
  const script = async (name: string, ...lines: string[]) => {
    const path = join(folder, `${name}.sh`);
    await writeFile(path, ["#!/bin/sh", ...lines, ""].join("\n"), { mode: 0o755 });
    return path;
  };
  const createApp = async (name: string, lines: string[], spec: NCAppSpec = {}, metadata: object = {}) =>
    await create({
      apiVersion,
      kind,
      metadata: { name, namespace: "default", ...metadata },
      spec: {
        shellFile: await script(name, ...lines),
        nodeName: node,
        terminationGracePeriodSeconds: 2,
        ...spec,
      },
    });
  /** The paths of what tests wait for most. */
  const paths = new Map([["pod", "/api/v1/namespaces/default/pods"], ["ncapp", ncappPath("default")]]);
  const get = async <T>(...words: string[]): Promise<T | undefined> => {
    const path = words.length === 2 && paths.get(words[0]!);
    if (path) return await cluster.find<T>(`${path}/${words[1]}`);
    const { stdout } = await cluster.kubectl(["get", ...words, "--ignore-not-found", "-o", "json"]);
    return stdout ? JSON.parse(stdout) : undefined;
  };
  const podBecomes = (name: string, what: string, check: (pod: Pod) => unknown): Promise<Pod> =>
    waitFor(`the Pod ${name}: ${what}`, async () => {
      const pod = await get<Pod>("pod", name);
      return pod && check(pod) ? pod : undefined;
    }, deadlineMs);
  /** The agent's writes of Pods since a request: `PATCH /web/status`. */
  const writesSince = (from: number) =>
    proxy.requests.slice(from).filter(({ method, path }) =>
      method !== "GET" && path.startsWith("/api/v1/namespaces/default/pods")
    ).map(({ method, path }) => `${method} ${path.split("/pods")[1]}`);
  const isGone = (...what: string[]) =>
    waitFor(`${what} is gone`, async () => await get(...what) === undefined, deadlineMs);
  const stateOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
  const isRunning = (pod: Pod) => pod.status?.phase === "Running" && stateOf(pod)?.state?.running;
  const line = async (pod: string) =>
    (await cluster.kubectl(["get", "pod", pod, "--no-headers"])).stdout.split(/ +/).slice(0, 4).join(" ");
  const pidOf = async (name: string) =>
    (await get<{ status?: { pid?: number } }>("ncapp", name))?.status?.pid;
  /** The ready addresses and ports of a Service, by the API that its version has. */
  const endpointsOf = async (service: string): Promise<string[]> => {
    if (cluster.version.minor < 21) {
      const { subsets = [] } = await get<{ subsets?: Subset[] }>("endpoints", service) ?? {};
      return subsets.flatMap(({ addresses = [], ports = [] }) =>
        addresses.flatMap(({ ip }) => ports.map(({ port }) => `${ip}:${port}`))
      );
    }
    const label = `kubernetes.io/service-name=${service}`;
    const { items } = (await get<{ items: Slice[] }>("endpointslices", "-l", label))!;
    return items.flatMap(({ endpoints, ports }) =>
      (endpoints ?? []).filter(({ conditions }) => conditions.ready).flatMap(({ addresses }) =>
        (ports ?? []).flatMap(({ port }) => addresses.map((ip) => `${ip}:${port}`))
      )
    );
  };

  test("an app is a Pod with its labels and ports, and its Service has an endpoint exactly while it is ready", async () => {
    const sign = join(folder, "is-ready");
    const annotations = { team: "edge", [`${group}/log-max-size`]: "1Mi" };
    const from = proxy.requests.length;
    await createApp("web", ["exec sleep 600"], {
      ports: [{ name: "http", port: 18080 }],
      args: ["--password", "hidden"],
      env: [{ name: "TOKEN", value: "hidden" }],
      readinessProbe: { exec: { command: ["test", "-e", sign] }, periodSeconds: 1, failureThreshold: 1 },
    }, { labels: { app: "web" }, annotations });
    await create({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }] },
    });
    const pod = await podBecomes("web", "runs", isRunning);
    assert.equal(await line("web"), "web 0/1 Running 0");
    assert.deepEqual(await endpointsOf("web"), []);

    const { metadata, spec, status } = pod;
    assert.deepEqual(metadata?.labels, { app: "web" });
    assert.equal(metadata?.annotations?.team, "edge");
    assert.equal(metadata?.annotations?.[`${group}/log-max-size`], undefined);
    assert.deepEqual(metadata?.ownerReferences?.map(({ kind, name }) => [kind, name]), [["NCApp", "web"]]);
    assert.deepEqual(spec?.containers[0]?.ports, [{ name: "http", containerPort: 18080, protocol: "TCP" }]);
    assert.deepEqual([spec?.nodeName, spec?.serviceAccountName, spec?.volumes, status?.qosClass], [
      node,
      undefined,
      undefined,
      "BestEffort",
    ]);
    assert.doesNotMatch(JSON.stringify(pod), /hidden/);
    const address = status?.podIP;
    assert.ok(address && address === status.hostIP);

    await writeFile(sign, "");
    const ready = await podBecomes("web", "ready", ({ status }) => status?.containerStatuses?.[0]?.ready);
    assert.deepEqual(ready.status?.conditions?.filter(({ reason, message }) => reason || message), []);
    await waitFor("an endpoint", async () => String(await endpointsOf("web")) === `${address}:18080`);
    await cluster.kubectl(["wait", "--for=condition=Ready", "pod/web", "--timeout=30s"]);
    await rm(sign);
    await waitFor("no endpoint", async () => (await endpointsOf("web")).length === 0, deadlineMs);

    // A creation, then one write for each new state, and none for usage.
    const [creation, ...writes] = writesSince(from);
    assert.equal(creation, "POST ");
    assert.deepEqual(new Set(writes), new Set(["PATCH /web/status"]));
    const states = proxy.requests.slice(from).filter(({ method, path }) =>
      method === "PATCH" && path.endsWith("/pods/web/status")
    ).map(({ body }) => stateOfStatus(JSON.parse(body).status));
    assert.ok(states.every((state, index) => state !== states[index - 1]), String(states));
  });

  test("a deleted Pod is made again, and the app keeps running", async () => {
    const [{ metadata }, pid] = [await podBecomes("web", "runs", isRunning), await pidOf("web")];
    await cluster.kubectl(["delete", "pod", "web", "--timeout=30s"]);
    await podBecomes("web", "is another one", (pod) => pod.metadata?.uid !== metadata?.uid && isRunning(pod));
    assert.equal(await pidOf("web"), pid);
  });

  test("a Pod gets new labels in place, and is replaced for another port", async () => {
    const { metadata } = await podBecomes("web", "runs", isRunning);
    await cluster.kubectl(["label", "ncapp", "web", "app=shop", "--overwrite"]);
    const relabeled = await podBecomes("web", "new label", (pod) => pod.metadata?.labels?.app === "shop");
    assert.equal(relabeled.metadata?.uid, metadata?.uid);
    const patch = JSON.stringify({ spec: { ports: [{ name: "http", port: 18081 }] } });
    await cluster.kubectl(["patch", "ncapp", "web", "--type=merge", "-p", patch]);
    const replaced = await podBecomes(
      "web",
      "new port",
      ({ spec }) => spec?.containers[0]?.ports?.[0]?.containerPort === 18081,
    );
    assert.notEqual(replaced.metadata?.uid, metadata?.uid);
  });

  test("what other controllers do to Pods of a lost node is undone, and a taint that evicts Pods leaves it", async () => {
    const { metadata } = await podBecomes("web", "runs", isRunning);
    const sign = join(folder, "is-ready");
    await writeFile(sign, "");
    const isReady = (pod: Pod) =>
      pod.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    await podBecomes("web", "ready", isReady);
    // As the node controller does when a node is silent.
    const conditions = [{ type: "Ready", status: "False", lastTransitionTime: new Date().toISOString() }];
    await cluster.request("/api/v1/namespaces/default/pods/web/status", {
      method: "PATCH",
      contentType: "application/strategic-merge-patch+json",
      body: { status: { conditions } },
    });
    await podBecomes("web", "ready again", isReady);

    const spec = {
      nodeName: node,
      containers: [{ name: "x", image: "x" }],
      terminationGracePeriodSeconds: 0,
    };
    await create({ apiVersion: "v1", kind: "Pod", metadata: { name: "ordinary" }, spec });
    await cluster.kubectl(["taint", "node", node, "test=evict:NoExecute"]);
    await waitFor("another Pod is evicted", async () => {
      const pod = await get<Pod>("pod", "ordinary");
      return !pod || pod.metadata?.deletionTimestamp;
    }, deadlineMs);
    await cluster.kubectl(["taint", "node", node, "test-"]);
    await cluster.kubectl(["delete", "pod", "ordinary", "--force", "--grace-period=0", "--ignore-not-found"]);
    assert.equal((await podBecomes("web", "runs", isRunning)).metadata?.uid, metadata?.uid);
  });

  test("an agent that restarts keeps the Pod, and writes nothing", async () => {
    const before = await podBecomes("web", "runs", isRunning);
    await agent.kill("SIGTERM");
    const from = proxy.requests.length;
    await agent.start();
    await waitFor(
      "the agent has listed its Pods",
      () => proxy.requests.slice(from).some(({ path, status }) => path === "/api/v1/pods" && status === 200),
    );
    // The next change goes out after everything that was due before it.
    await cluster.kubectl(["label", "ncapp", "web", "round=2"]);
    const after = await podBecomes("web", "new label", (pod) => pod.metadata?.labels?.round === "2");
    assert.equal(after.metadata?.uid, before.metadata?.uid);
    assert.deepEqual(writesSince(from), ["PATCH /web"]);
    assert.deepEqual(after.status?.conditions, before.status?.conditions);
    assert.deepEqual(after.status?.startTime, before.status?.startTime);
  });

  test("an app that fails, succeeds or waits shows how it ended, with the exit code and the last lines", async () => {
    await createApp("crash", ["echo broken pipe >&2", "exit 7"], {
      backoffSeconds: 600,
      maxBackoffSeconds: 600,
    });
    const crashed = await podBecomes(
      "crash",
      "waits",
      (pod) => stateOf(pod)?.state?.waiting?.reason === "CrashLoopBackOff",
    );
    const { exitCode, reason, message } = stateOf(crashed)?.lastState?.terminated ?? {};
    assert.deepEqual([exitCode, reason], [7, "Error"]);
    assert.match(message ?? "", /broken pipe/);
    assert.match(await line("crash"), /^crash 0\/1 CrashLoopBackOff 0/);

    await createApp("job", ["exit 0"], { restartPolicy: "Never" });
    const done = await podBecomes("job", "has succeeded", ({ status }) => status?.phase === "Succeeded");
    assert.equal(await line("job"), "job 0/1 Completed 0");
    await createApp("wrong", ["kill -KILL $$"], { restartPolicy: "Never" });
    const failed = await podBecomes("wrong", "has failed", ({ status }) => status?.phase === "Failed");
    assert.deepEqual([
      stateOf(failed)?.state?.terminated?.exitCode,
      stateOf(failed)?.state?.terminated?.signal,
    ], [137, 9]);

    // A Pod that has ended never runs again: the next run is another Pod.
    await cluster.kubectl(["annotate", "ncapp", "job", `${group}/restartedAt=now`]);
    await podBecomes(
      "job",
      "ran again",
      (pod) => pod.status?.phase === "Succeeded" && pod.metadata?.uid !== done.metadata?.uid,
    );
    await cluster.kubectl(["delete", "ncapp", "crash", "job", "wrong"]);
    for (const name of ["crash", "job", "wrong"]) await isGone("pod", name);
  });

  test("a name that another Pod has is not taken from it", async () => {
    await create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "taken" },
      spec: { containers: [{ name: "x", image: "x" }] },
    });
    await createApp("taken", ["exec sleep 600"]);
    const other = await waitFor("a Pod with another name", async () => {
      const { items } = (await get<{ items: Pod[] }>("pods", "--field-selector", `spec.nodeName=${node}`))!;
      return items.find(({ metadata }) => metadata?.name?.startsWith("taken-"));
    }, deadlineMs);
    assert.match(other.metadata?.name ?? "", /^taken-[0-9a-f]{5}$/);
    await cluster.kubectl(["delete", "ncapp", "taken"]);
    await isGone("pod", other.metadata?.name ?? "");
    assert.ok(await get("pod", "taken"));
  });

  test("a namespace whose quota has no Pods runs its apps without, and says so once", async () => {
    await cluster.kubectl(["create", "namespace", "full"]);
    await cluster.kubectl(["-n", "full", "create", "quota", "none", "--hard=pods=0"]);
    await waitFor(
      "the quota counts",
      async () => (await get<{ status?: { used?: object } }>("-n", "full", "quota", "none"))?.status?.used,
    );
    for (const name of ["one", "two"]) await createApp(name, ["exec sleep 600"], {}, { namespace: "full" });
    for (const name of ["one", "two"]) {
      await cluster.kubectl([
        "-n",
        "full",
        "wait",
        "--for=condition=Ready",
        `ncapp/${name}`,
        "--timeout=60s",
      ]);
    }
    await waitFor("the refusal is logged", () => /refuses Pods/.test(agent.log()));
    assert.equal(agent.log().match(/refuses Pods/g)?.length, 1, agent.log());
    await cluster.kubectl(["delete", "namespace", "full", "--timeout=60s"]);
  });

  test("a namespace with apps and their Pods can be deleted", async () => {
    await cluster.kubectl(["create", "namespace", "brief"]);
    await createApp("app", ["exec sleep 600"], {}, { namespace: "brief" });
    await waitFor("the Pod", () => get("-n", "brief", "pod", "app"), deadlineMs);
    await cluster.kubectl(["delete", "namespace", "brief", "--timeout=60s"]);
  });

  test("a stolen credential of another node can neither write this node's Pods nor run anything", async (t) => {
    if (!cluster.has("selectable-fields")) {
      return t.skip("this server has no admission policies: see docs/security.md");
    }
    const token = cluster.tokenFor("nckubelet:node-b");
    const path = "/api/v1/namespaces/default/pods";
    const own: Pod = {
      metadata: {
        name: "stolen",
        annotations: { "kubernetes.io/config.mirror": "0" },
        ownerReferences: [{ apiVersion, kind, name: "web", uid: "0", controller: true }],
      },
      spec: { nodeName: "node-b", containers: [{ name: "app", image: "x" }] },
    };
    type Change = (pod: Pod & { metadata: object; spec: object }) => void;
    const container = (fields: object): Change => ({ spec }) =>
      void Object.assign(spec.containers[0]!, fields);
    const tried: Record<string, Change> = {
      "on another node": ({ spec }) => void (spec.nodeName = node),
      "on no node": ({ metadata, spec }) => void (delete spec.nodeName, delete metadata.annotations),
      "that a kubelet would run": ({ metadata }) => void delete metadata.annotations,
      "with a Secret": ({ spec }) => void (spec.volumes = [{ name: "s", secret: { secretName: "s" } }]),
      "with a folder of the node": ({ spec }) =>
        void (spec.volumes = [{ name: "s", hostPath: { path: "/" } }]),
      "with a variable from a Secret": container({
        env: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "s" } } }],
      }),
      "with a service account": ({ spec }) => void (spec.serviceAccountName = "default"),
      "with the node's network": ({ spec }) => void (spec.hostNetwork = true),
      "with the node's processes": ({ spec }) => void (spec.hostPID = true),
      "with the node's IPC": ({ spec }) => void (spec.hostIPC = true),
      "that is privileged": container({ securityContext: { privileged: true } }),
      "with an init container": ({ spec }) => void (spec.initContainers = [{ name: "i", image: "x" }]),
      "of a Deployment": ({ metadata }) =>
        void Object.assign(metadata.ownerReferences![0]!, { kind: "Deployment", apiVersion: "apps/v1" }),
      "that a ReplicaSet adopts, which then deletes one of its own": ({ metadata }) =>
        void delete metadata.ownerReferences![0]!.controller,
      "that keeps its owner from being deleted": ({ metadata }) =>
        void (metadata.ownerReferences![0]!.blockOwnerDeletion = true),
      "without an owner": ({ metadata }) => void delete metadata.ownerReferences,
      "that cannot be deleted": ({ metadata }) => void (metadata.finalizers = ["example.com/stay"]),
    };
    for (const [what, change] of Object.entries(tried)) {
      const pod = structuredClone(own);
      change(pod as Parameters<Change>[0]);
      const { status, body } = await cluster.request(path, { method: "POST", token, body: pod });
      assert.equal(status, 403, `a Pod ${what}: ${body}`);
    }
    const patch = { method: "PATCH", token, contentType: "application/merge-patch+json" };
    const answers = {
      "status of another node's Pod": await cluster.request(`${path}/web/status`, {
        ...patch,
        body: { status: { podIP: "192.0.2.66" } },
      }),
      "labels of another node's Pod": await cluster.request(`${path}/web`, {
        ...patch,
        body: { metadata: { labels: { app: "bank" } } },
      }),
      "deletion of another node's Pod": await cluster.request(`${path}/web`, { method: "DELETE", token }),
      "exec in another node's Pod": await cluster.request(`${path}/web/exec?command=id`, {
        method: "POST",
        token,
      }),
      "log of another node's Pod": await cluster.request(`${path}/web/log`, { token }),
      "eviction of another node's Pod": await cluster.request(`${path}/web/eviction`, {
        method: "POST",
        token,
        body: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "web", namespace: "default" } },
      }),
    };
    for (const [what, { status, body }] of Object.entries(answers)) {
      assert.equal(status, 403, `${what}: ${body}`);
    }

    const { status, body } = await cluster.request(path, { method: "POST", token, body: own });
    assert.equal(status, 201, body);
    const image = { spec: { containers: [{ name: "app", image: "y" }] } };
    const changed = await cluster.request(`${path}/stolen`, {
      ...patch,
      contentType: "application/strategic-merge-patch+json",
      body: image,
    });
    assert.equal(changed.status, 403, changed.body);
    const owners = await cluster.request(`${path}/stolen`, {
      ...patch,
      body: { metadata: { ownerReferences: null } },
    });
    assert.equal(owners.status, 403, owners.body);
    await cluster.request(`${path}/stolen?gracePeriodSeconds=0`, { method: "DELETE", token });
  });

  testForeignPods(() => ({ cluster, node, createApp }));

  test("the Pod goes with its app, and drain ignores it", async () => {
    await cluster.kubectl(["drain", node, "--timeout=10s"]);
    await cluster.kubectl(["uncordon", node]);
    assert.ok(await get("pod", "web"));
    await cluster.kubectl(["delete", "ncapp", "web", "--timeout=30s"]);
    await isGone("pod", "web");
    assert.equal(agent.log().match(/level=(error|warn)/g), null, agent.log());
  });
});

interface Subset {
  addresses?: { ip: string }[];
  ports?: { port: number }[];
}

interface Slice {
  endpoints: { addresses: string[]; conditions: { ready?: boolean } }[] | null;
  ports: { port: number }[] | null;
}

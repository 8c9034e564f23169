/**
 * A node among the real controllers and the real kube-scheduler. Their periods are shortened, and so are those of the agents that run
 * inside this process.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { agentGroup, agentUser, apiVersion, kind, leaseNamespace } from "../../src/api/names.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import { type Lease, renewLease } from "../../src/kube/lease.ts";
import { leases, nodes, resourcePath } from "../../src/kube/resources.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { repeat } from "../../src/lib/sleep.ts";
import type { Node } from "../../src/node/node-object.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import type { Cluster } from "../harness/cluster.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { type Forwarder, withForwarder } from "../harness/forwarder.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnlessControllers } from "../harness/parts.ts";
import { processesNaming } from "../harness/processes.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { createRealNode } from "./real-node.ts";
import { startSchedulerCommand } from "./scheduler-command.ts";

const names = ["node-1", "node-2"];
/** An agent that read its Node only once a minute would take longer. */
const lessThanAMinute = 30_000;
const unreachable = ["node.kubernetes.io/unreachable", "node.kubernetes.io/unreachable"];
const cordoned = "node.kubernetes.io/unschedulable";

describe("a node among real controllers", { skip: skipUnlessControllers(), timeout: 240_000 }, () => {
  const opened = new AsyncDisposableStack();
  let cluster: Cluster;
  let admin: KubeClient;
  /** What is between the API server and the agent of node-1. */
  let network: Forwarder;
  /** Ends the heartbeats of the kubelet of node-2. */
  const silence = new AbortController();

  before(async () => {
    cluster = await startControlPlane({
      users: [...defaultUsers, ...names.map((name) => ({ name: agentUser(name), groups: [agentGroup] }))],
      controllers: ["--node-monitor-grace-period=4s", "--node-monitor-period=1s", "--node-eviction-rate=10"],
      podScheduler: true,
      prepare: installCRD,
    });
    opened.defer(() => cluster.stop());
    admin = await cluster.clientOf("admin");
    // While no other Node is ready, the controllers do not taint one with NoExecute.
    await startKubelet("node-2");
    network = await openForwarder();
    await startNodeAgent("node-1", network.port);
  });
  after(() => opened.disposeAsync());

  const openForwarder = () =>
    new Promise<Forwarder>((resolve, reject) => {
      const done = Promise.withResolvers<void>();
      const serving = withForwarder(Number(new URL(cluster.server).port), (forwarder) => {
        resolve(forwarder);
        return done.promise;
      });
      serving.catch(reject);
      opened.defer(() => (done.resolve(), serving));
    });

  /** Runs an agent's part for its Node, with the credentials of that agent. */
  const startNodeAgent = async (node: string, port?: number) => {
    const kubeconfig = await cluster.kubeconfigFor(agentUser(node));
    const text = await readFile(kubeconfig, "utf8");
    if (port) await writeFile(kubeconfig, text.replaceAll(cluster.server, `https://127.0.0.1:${port}`));
    const client = createKubeClient(await loadAccess({ kubeconfig }));
    const ending = new AbortController();
    const running = createRealNode(client, node, { periodMs: 500 }).run(ending.signal);
    opened.defer(async () => {
      ending.abort();
      await running;
      client.close();
    });
  };
  /** What a kubelet would write: a Node with room for Pods, and its Lease until `silence`. */
  const startKubelet = async (name: string) => {
    const resources = { cpu: "4", memory: "8Gi", pods: "110" };
    await admin.request({
      method: "POST",
      path: resourcePath(nodes),
      body: {
        metadata: { name, labels: { "kubernetes.io/hostname": name } },
        status: {
          nodeInfo: { kubeletVersion: "v1.34.1" },
          capacity: resources,
          allocatable: resources,
          conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }],
        },
      },
    });
    const claim = { namespace: leaseNamespace, name, holder: name, seconds: 40 };
    const beat = async () => void await renewLease(admin, claim);
    const beating = repeat(1000, silence.signal, beat, silentLogger);
    opened.defer(() => (silence.abort(), beating));
  };
  const readNode = (name: string): Promise<Node> => admin.request({ path: resourcePath(nodes, { name }) });
  const readLease = (name: string): Promise<Lease> =>
    admin.request({ path: resourcePath(leases, { namespace: leaseNamespace, name }) });
  /** Waits until the Node has this Ready condition and, of the taints of Kubernetes, exactly these. */
  const nodeBecomes = (name: string, what: string, ready: string, taints: string[] = []) =>
    waitFor(`${what}: Ready=${ready}, taints ${taints}`, async () => {
      const node = await readNode(name).catch(() => undefined);
      const condition = node?.status?.conditions?.find(({ type }) => type === "Ready");
      const found = (node?.spec?.taints ?? []).map(({ key }) => key).filter((key) => key.startsWith("node."));
      return condition?.status === ready && String(found.sort()) === String(taints) && node;
    }, lessThanAMinute);
  /** kubectl wait 1.20 fails if the object is gone already. */
  const isGone = (...what: string[]) =>
    waitFor(
      `${what.join(" ")} is gone`,
      async () => (await cluster.kubectl(["get", ...what, "--ignore-not-found"])).stdout === "",
    );
  const create = (object: object) =>
    cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });

  test("a Node that was cut off while cordoned is ready again and still cordoned", async () => {
    await nodeBecomes("node-1", "registered", "True");
    await cluster.kubectl(["cordon", "node-1"]);
    await nodeBecomes("node-1", "cordoned", "True", [cordoned]);
    network.close();
    await nodeBecomes("node-1", "cut off", "Unknown", [...unreachable, cordoned]);
    network.open();
    const { spec } = await nodeBecomes("node-1", "connected again", "True", [cordoned]);
    assert.equal(spec?.unschedulable, true);
    // The node has no Pods, so there is nothing to evict.
    await cluster.kubectl(["drain", "node-1", "--timeout=10s"]);
    await cluster.kubectl(["uncordon", "node-1"]);
    await nodeBecomes("node-1", "uncordoned", "True");
  });

  test("a deleted Node comes back, and its Leases belong to the new one and survive the garbage collection", async () => {
    const { metadata } = await nodeBecomes("node-1", "before", "True");
    const bothLeases = (what: string, uid: string | undefined) =>
      waitFor(`Leases ${what}`, async () => {
        const found = await Promise.all(
          ["node-1", "nckubelet-node-1"].map((name) => readLease(name).catch(() => undefined)),
        );
        const owned = found.every((lease) => lease?.metadata?.ownerReferences?.[0]?.uid === uid);
        return owned && found.map((lease) => lease?.metadata?.uid);
      });
    await bothLeases("of the first Node", metadata?.uid);
    await cluster.kubectl(["delete", "node", "node-1"]);
    const created = await waitFor("another Node", async () => {
      const node = await readNode("node-1").catch(() => undefined);
      return node && node.metadata?.uid !== metadata?.uid && node;
    });
    const kept = await bothLeases("of the second Node", created.metadata?.uid);
    // The garbage collector works in order: what it was given before is done when this is gone.
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "node-1", uid: metadata?.uid }];
    await create({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "orphan", namespace: leaseNamespace, ownerReferences },
    });
    await isGone("-n", leaseNamespace, "lease", "orphan");
    assert.deepEqual(await bothLeases("after the collection", created.metadata?.uid), kept);
    await nodeBecomes("node-1", "created again", "True");
  });

  test("a kubelet's Node gets only the label: a DaemonSet that tolerates everything lands there and not on the agent's Node", async () => {
    const before = await nodeBecomes("node-2", "the kubelet's Node", "True");
    await startNodeAgent("node-2");
    const labeled = await waitFor("its label", async () => {
      const node = await readNode("node-2");
      return node.metadata?.labels?.["app.example.com/nckubelet"] === "true" && node;
    });
    assert.deepEqual([labeled.spec, labeled.status], [before.spec, before.status]);

    const labels = { app: "everywhere" };
    await create({
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: "everywhere" },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { tolerations: [{ operator: "Exists" }], containers: [{ name: "x", image: "x" }] },
        },
      },
    });
    const [refused] = await waitFor("one Pod is bound and one is refused", async () => {
      const { stdout } = await cluster.kubectl(["get", "pods", "-l", "app=everywhere", "-o", "json"]);
      // deno-lint-ignore no-explicit-any
      const pods: any[] = JSON.parse(stdout).items;
      const decided = pods.filter(({ status }) => status.conditions?.length > 0);
      return pods.length === 2 && decided.length === 2 && pods.filter(({ spec }) => !spec.nodeName);
    });
    assert.match(JSON.stringify(refused?.spec.affinity ?? "both landed"), /node-1/);
    assert.match(refused.status.conditions[0].message, /Too many pods|Insufficient pods/);
    const bound = await cluster.kubectl([
      "get",
      "pods",
      "-A",
      "--field-selector=spec.nodeName=node-1",
      "-o",
      "name",
    ]);
    assert.equal(bound.stdout, "");
    await cluster.kubectl(["delete", "daemonset", "everywhere"]);

    silence.abort();
    const lost = await nodeBecomes("node-2", "the kubelet is silent", "Unknown", unreachable);
    const renewals = new Set<string | undefined>();
    await waitFor("the agent goes on", async () => {
      renewals.add((await readLease("nckubelet-node-2")).spec?.renewTime);
      return renewals.size > 4;
    });
    assert.deepEqual(
      (await readNode("node-2")).status,
      lost.status,
      "only its kubelet says that it is ready",
    );
  });

  describe("with an agent that runs apps", () => {
    let agent: AgentProcess;
    let shellFile = "";
    let journal = "";

    before(async () => {
      const folder = opened.use(tempFolder()).path;
      [shellFile, journal] = [join(folder, "app.sh"), join(folder, "journal")];
      const lines = [
        "#!/bin/sh",
        `trap 'echo "$1 ends" >>${journal}; exit 0' TERM`,
        `[ "$1" != stubborn ] || trap '' TERM`,
        "while :; do sleep 0.2; done",
      ];
      await writeFile(shellFile, lines.join("\n"), { mode: 0o755 });
      const kubeconfig = await cluster.kubeconfigFor(agentUser("node-a"));
      agent = opened.use(await startAgentProcess(["--kubeconfig", kubeconfig, "--node-name", "node-a"]));
    });

    const createApp = (name: string, namespace: string, { metadata = {}, spec = {} } = {}) =>
      create({
        apiVersion,
        kind,
        metadata: { name, namespace, ...metadata },
        spec: { shellFile, args: [name], nodeName: "node-a", terminationGracePeriodSeconds: 2, ...spec },
      });
    const waitsUntilReady = (name: string, namespace: string) =>
      cluster.kubectl(["wait", "--for=condition=Ready", `ncapp/${name}`, "-n", namespace, "--timeout=60s"]);
    const processes = (name: string) => processesNaming(`${shellFile}\0${name}\0`);
    const hasStopped = (name: string) =>
      waitFor(`${name} has stopped`, async () => (await processes(name)).length === 0);

    test("an app goes with the object that owns it", async () => {
      await cluster.kubectl(["create", "configmap", "owner"]);
      const { stdout } = await cluster.kubectl([
        "get",
        "configmap",
        "owner",
        "-o",
        "jsonpath={.metadata.uid}",
      ]);
      const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: stdout }];
      await createApp("owned", "default", { metadata: { ownerReferences } });
      await waitsUntilReady("owned", "default");
      await cluster.kubectl(["delete", "configmap", "owner"]);
      await isGone("ncapp", "owned");
      await hasStopped("owned");
      assert.match(await readFile(journal, "utf8"), /^owned ends$/m);
    });

    test("a namespace with running apps can be deleted, without and with a scheduler, and all of them stop", async () => {
      await cluster.kubectl(["create", "namespace", "unscheduled"]);
      for (const name of ["polite", "stubborn"]) await createApp(name, "unscheduled");
      for (const name of ["polite", "stubborn"]) await waitsUntilReady(name, "unscheduled");
      const unscheduled = cluster.kubectl(["delete", "namespace", "unscheduled", "--timeout=60s"]);
      for (const name of ["polite", "stubborn"]) await hasStopped(name);
      assert.match(await readFile(journal, "utf8"), /^polite ends$/m);
      // From here on no scheduler could help: the namespace controller looks again after 8 s and finds nothing that is left.
      for (const name of ["polite", "stubborn"]) await isGone("-n", "unscheduled", "ncapp", name);

      const kubeconfig = await cluster.kubeconfigFor("nckubelet-scheduler");
      opened.use(await startSchedulerCommand(["--kubeconfig", kubeconfig]));
      await cluster.kubectl(["create", "namespace", "scheduled"]);
      // node-1 and node-2 have no agent that runs apps.
      const spec = { nodeName: undefined, nodeSelector: { "kubernetes.io/hostname": "node-a" } };
      await createApp("stubborn", "scheduled", { spec });
      await waitsUntilReady("stubborn", "scheduled");
      await cluster.kubectl(["delete", "namespace", "scheduled", "--timeout=60s"]);
      assert.deepEqual(
        await processes("stubborn"),
        [],
        "the finalizer kept the namespace until its app had stopped",
      );
      await unscheduled;
      assert.equal(agent.log().match(/level=error/g), null, agent.log());
    });
  });
});

/**
 * The Node object and the Leases at a real API server, as an agent with the shipped roles and no more.
 */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Meter } from "../../src/agent/view/view.ts";
import { createNode } from "../../src/agent/node/node.ts";
import type { AgentOptions } from "../../src/agent/options.ts";
import { agentUser, leaseNamespace } from "../../src/api/names.ts";
import type { KubeClient, RequestReport } from "../../src/kube/client/client.ts";
import type { Lease } from "../../src/kube/lease.ts";
import { leases, nodes, priorityClasses, resourcePath } from "../../src/kube/resources.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { type NodeAgentOptions } from "../../src/node/node-agent.ts";
import type { Node } from "../../src/node/node-object.ts";
import { parsePublished } from "../../src/node/published.ts";
import { type NodeUsage } from "../../src/node/usage.ts";
import type { Supervisor } from "../../src/supervisor/supervisor.ts";
import type { Cluster } from "../harness/cluster.ts";
import { parseNodeLabels, parseTaints } from "../../src/api/node-labels.ts";
import { identity } from "../node/samples.ts";
import { appWith, recordWith, runOf } from "../supervisor/fixtures.ts";
import { waitFor } from "../wait-for.ts";
import { createRealNode, usage } from "./real-node.ts";

const minute = 60_000;
const names = ["node-1", "node-2", "node-3", "node-4"];

export function testNode(shared: () => Cluster): void {
  let cluster: Cluster;
  let admin: KubeClient;
  const clients = new Map<string, KubeClient>();
  const requests: RequestReport[] = [];

  before(async () => {
    cluster = shared();
    admin = await cluster.clientOf("admin");
    for (const name of names) {
      const onRequest = (report: RequestReport) => requests.push(report);
      clients.set(name, await cluster.clientOf(agentUser(name), { onRequest }));
    }
  });

  const newAgent = (node: string, change: Partial<NodeAgentOptions> = {}) =>
    createRealNode(clients.get(node)!, node, { reserved: { cpuPCT: 10, memPCT: 10 }, ...change });
  const readNode = (name: string): Promise<Node> => admin.request({ path: resourcePath(nodes, { name }) });
  const readLease = (name: string): Promise<Lease> =>
    admin.request({ path: resourcePath(leases, { namespace: leaseNamespace, name }) });
  const counted = async (work: () => Promise<unknown>) => {
    const before = requests.length;
    await work();
    return requests.slice(before).map(({ verb, resource, code }) => `${verb} ${resource} ${code}`);
  };

  test("a machine without a Node gets one that kubectl shows as ready", async () => {
    const agent = newAgent("node-1");
    await agent.observeOnce();
    const asked = await counted(() => agent.registerOnce());
    assert.deepEqual(asked, ["get nodes 404", "create nodes 201"]);
    const { stdout } = await cluster.kubectl(["get", "nodes", "node-1", "-o", "wide"]);
    assert.match(stdout, /node-1 +Ready +<none> +\S+ +v1\.2\.3\+nckubelet .* nckubelet:\/\/1\.2\.3/);
    const { metadata, spec, status } = await readNode("node-1");
    assert.equal(metadata?.labels?.["app.example.com/nckubelet"], "true");
    assert.ok(spec?.taints?.some(({ key }) => key === "app.example.com/nckubelet"));
    assert.equal(status?.capacity?.pods, "0");
  });

  test("labels and taints of the flags come back when the Node was deleted, and the version is the server's", async () => {
    const options = {
      labels: parseNodeLabels("topology.kubernetes.io/zone=z,example.com/rack=7"),
      taints: parseTaints("dedicated=lab:NoSchedule"),
      serverVersion: async () => cluster.version.gitVersion,
    };
    const agent = newAgent("node-1", options);
    await cluster.kubectl(["delete", "node", "node-1"]);
    for (let times = 0; times < 2; times++) {
      await waitFor("it is registered", async () => {
        await agent.registerOnce();
        return agent.state().registered;
      });
      const { metadata, spec, status } = await readNode("node-1");
      for (const [label, value] of Object.entries(options.labels)) {
        assert.equal(metadata?.labels?.[label], value);
      }
      assert.equal(metadata?.labels?.["node.kubernetes.io/exclude-from-external-load-balancers"], "");
      assert.ok(spec?.taints?.some(({ key, value }) => key === "dedicated" && value === "lab"));
      assert.equal(status?.nodeInfo?.kubeletVersion, `${cluster.version.gitVersion}+nckubelet`);
      if (times === 0) await cluster.kubectl(["delete", "node", "node-1"]);
    }
    // The registration also renews the Leases, which other tests count.
    await waitFor("the Leases are there", () => agent.renewOnce());
  });

  test("an unchanged Node is stored as it was sent: the next rounds write nothing for five minutes", async () => {
    let time = Date.now();
    const agent = newAgent("node-1", { now: () => time, steady: () => time });
    await agent.observeOnce();
    await agent.registerOnce();
    const asked = await counted(async () => {
      for (let times = 0; times < 4; times++) {
        time += minute;
        await agent.registerOnce();
      }
    });
    assert.deepEqual(asked, Array(4).fill("get nodes 200"));
    time += 2 * minute;
    assert.deepEqual(await counted(() => agent.registerOnce()), [
      "get nodes 200",
      "patch nodes/status 200",
    ]);
  });

  test("kubectl describe shows memory pressure until it ends", async () => {
    let time = Date.now();
    let measured: NodeUsage = { ...await usage(), memoryAvailableBytes: 10 << 20 };
    const agent = newAgent("node-1", {
      now: () => time,
      steady: () => time,
      usage: () => Promise.resolve(measured),
    });
    await agent.observeOnce();
    await agent.registerOnce();
    const { stdout } = await cluster.kubectl(["describe", "node", "node-1"]);
    assert.match(
      stdout,
      /MemoryPressure +True .* InsufficientMemory +10 of \d+ MiB of memory are available/,
    );
    measured = { ...measured, memoryAvailableBytes: measured.memoryTotalBytes };
    for (let times = 0; times < 2; times++) {
      await agent.observeOnce();
      time += 2 * minute;
    }
    await agent.registerOnce();
    const conditions = (await readNode("node-1")).status?.conditions;
    assert.equal(conditions?.find(({ type }) => type === "MemoryPressure")?.status, "False");
  });

  test("a registered Node has both Leases, and the agent's own reports what is free", async () => {
    const agent = newAgent("node-1");
    await agent.observeOnce();
    await agent.registerOnce();
    assert.equal(await agent.renewOnce(), true);
    assert.deepEqual(await counted(() => agent.renewOnce()), ["update leases 200", "update leases 200"]);
    const own = await readLease("nckubelet-node-1");
    assert.deepEqual(parsePublished(own.metadata?.annotations)?.free, { cpuPCT: 70, memPCT: 45.5 });
    assert.equal(own.spec?.leaseDurationSeconds, 40);
    assert.equal((await readLease("node-1")).spec?.holderIdentity, "node-1");
    assert.equal(own.metadata?.ownerReferences?.[0]?.uid, (await readNode("node-1")).metadata?.uid);
  });

  test("a kubelet's Node gets the label and nothing else", async () => {
    const body = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "node-2", labels: { zone: "a" } },
      status: { nodeInfo: { kubeletVersion: "v1.34.1" }, capacity: { cpu: "4", pods: "110" } },
    };
    const before = await admin.request<Node>({ method: "POST", path: resourcePath(nodes), body });
    const agent = newAgent("node-2");
    await agent.observeOnce();
    assert.deepEqual(await counted(() => agent.registerOnce()), ["get nodes 200", "patch nodes 200"]);
    assert.deepEqual(await counted(() => agent.renewOnce()), [
      "get leases 404",
      "get nodes 200",
      "create leases 201",
    ]);
    const { metadata, spec, status } = await readNode("node-2");
    assert.deepEqual(metadata?.labels, { zone: "a", "app.example.com/nckubelet": "true" });
    assert.deepEqual([spec, status], [before.spec, before.status]);
  });

  test("a kubelet that starts later gets the Node back, with the taint until an administrator removes it", async () => {
    let time = Date.now();
    const agent = newAgent("node-3", { now: () => time, steady: () => time });
    await agent.registerOnce();
    await admin.request({
      method: "PATCH",
      path: resourcePath(nodes, { name: "node-3", subresource: "status" }),
      body: { status: { nodeInfo: { kubeletVersion: "v1.34.1" } } },
    });
    time += 2 * minute;
    await agent.registerOnce();
    assert.equal(agent.state().registered, false);
    const { metadata, spec } = await readNode("node-3");
    assert.ok(spec?.taints?.some(({ key }) => key === "app.example.com/nckubelet"));
    assert.equal(metadata?.annotations?.["app.example.com/registered-by"], undefined);
  });

  test("when memory runs short, the app of the lowest PriorityClass is evicted, and critical ones stay", async () => {
    for (const [name, value] of [["batch", -10], ["vital", 1_000_000]] as const) {
      const body = { metadata: { name }, value };
      await admin.request({ method: "POST", path: resourcePath(priorityClasses), body });
    }
    const known = (name: string, priorityClassName?: string) => {
      const app = appWith({ priorityClassName });
      return { key: `default/${name}`, record: recordWith({ app, phase: "Running", run: runOf(app) }) };
    };
    const apps = [
      known("critical", "system-cluster-critical"),
      known("big-and-vital", "vital"),
      known("without-class"),
      known("of-batch", "batch"),
    ];
    const evicted: string[] = [];
    const ending = new AbortController();
    const supervisor = {
      list: () => apps,
      evict(key: string, message: string) {
        evicted.push(`${key}: ${message.slice(message.lastIndexOf("at priority"))}`);
        apps.splice(apps.findIndex((app) => app.key === key), 1);
      },
    } as unknown as Supervisor;
    const meter = { latest: () => ({ memoryBytes: 1 << 20 }) } as unknown as Meter;
    const short = { ...await usage(), memoryAvailableBytes: 1 << 20 };
    const options = {
      nodeName: "node-1",
      version: "1.2.3",
      registerNode: "never",
      reserved: { cpuPCT: 0, memPCT: 0 },
      log: silentLogger,
    } as AgentOptions;
    const node = createNode({
      options,
      client: clients.get("node-1")!,
      membership: { identity, settle: () => Promise.resolve(true), onStanding() {} },
      supervisor,
      meter,
      size: { cpus: 1, memoryBytes: 1 << 30 },
      usage: () => Promise.resolve(short),
    });
    const running = node.run(ending.signal);
    try {
      await waitFor("one is left", () => apps.length === 1);
      await node.observeOnce();
    } finally {
      ending.abort();
      await running;
    }
    assert.deepEqual(evicted, [
      "default/of-batch: at priority -10",
      "default/without-class: at priority 0",
      "default/big-and-vital: at priority 1000000",
    ]);
  });

  test("run() survives a crash of the API server and of etcd", async () => {
    const ending = new AbortController();
    const agent = newAgent("node-4", { periodMs: 100 });
    const running = agent.run(ending.signal);
    const renewedAfter = (time: string) =>
      waitFor(`a renewal after ${time}`, async () => {
        const lease = await readLease("nckubelet-node-4").catch(() => undefined);
        const { renewTime = "" } = lease?.spec ?? {};
        return renewTime > time && renewTime;
      });
    let time = await renewedAfter("");
    for (const daemon of [cluster.apiServer, cluster.etcd]) {
      await daemon.kill("SIGKILL");
      await daemon.start();
      time = await renewedAfter(time);
    }
    ending.abort();
    await running;
    assert.ok(await readNode("node-4"));
  });

  test("the agent's roles allow it to delete no Node and write no other Lease", async () => {
    const client = clients.get("node-1")!;
    await assert.rejects(
      client.request({ method: "DELETE", path: resourcePath(nodes, { name: "node-1" }) }),
      { status: 403 },
    );
    const path = resourcePath(leases, { namespace: "kube-system" });
    await assert.rejects(client.request({ method: "POST", path, body: { metadata: { name: "x" } } }), {
      status: 403,
    });
  });
}

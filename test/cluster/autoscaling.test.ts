/**
 * A HorizontalPodAutoscaler of the real kube-controller-manager and an NCAppSet. The API of metrics-server is answered by this process,
 * behind the API server's aggregation: each Pod uses a share of what it requests.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { agentGroup, agentUser, apiVersion, setKind } from "../../src/api/names.ts";
import { createAuthority, createServerCertificate } from "../harness/certificates.ts";
import type { Cluster } from "../harness/cluster.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnlessControllers } from "../harness/parts.ts";
import { startHollowAgents } from "../hollow/hollow-agents.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { startCommand } from "./scheduler-command.ts";

const nodes = ["n1", "n2"];
const deadlineMs = 90_000;
const metricsVersion = "metrics.k8s.io/v1beta1";

interface Pod {
  metadata: { name: string; uid: string; namespace: string };
  spec: { nodeName: string; containers: { name: string; resources: { requests?: { cpu?: string } } }[] };
  status?: { conditions?: { type: string; status: string }[] };
}

describe("autoscaling", { skip: skipUnlessControllers(), timeout: 300_000 }, () => {
  const opened = new AsyncDisposableStack();
  let cluster: Cluster;
  /** Of its request, what each Pod uses. */
  let usage = 1;

  before(async () => {
    const quick = [
      "--horizontal-pod-autoscaler-sync-period=1s",
      "--horizontal-pod-autoscaler-cpu-initialization-period=0s",
    ];
    cluster = await startControlPlane({
      users: [...defaultUsers, ...nodes.map((node) => ({ name: agentUser(node), groups: [agentGroup] }))],
      controllers: [...quick, "--horizontal-pod-autoscaler-initial-readiness-delay=0s"],
      serviceAccounts: true,
      prepare: installCRD,
    });
    opened.defer(() => cluster.stop());
    const kubeconfigs = new Map(
      await Promise.all(
        nodes.map(async (node) => [node, await cluster.kubeconfigFor(agentUser(node))] as const),
      ),
    );
    opened.use(
      await startHollowAgents({ nodes, reach: (node) => ({ kubeconfig: kubeconfigs.get(node)! }) }),
    );
    const kubeconfig = await cluster.kubeconfigFor("nckubelet-scheduler");
    opened.use(startCommand("controller", ["--listen", "", "--kubeconfig", kubeconfig]));
    await serveMetrics();
  });
  after(() => opened.disposeAsync());

  const podsOf = async (app: string) =>
    (await cluster.get<{ items: Pod[] }>(`/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`)).items;

  const metricsOf = async (path: string): Promise<object | undefined> => {
    if (path === `/apis/${metricsVersion}`) {
      const verbs = ["get", "list"];
      const resources = [{ name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs }];
      return { kind: "APIResourceList", apiVersion: "v1", groupVersion: metricsVersion, resources };
    }
    if (path !== `/apis/${metricsVersion}/namespaces/default/pods`) return undefined;
    const items = (await podsOf("web")).map(({ metadata: { name, namespace }, spec: { containers } }) => ({
      metadata: { name, namespace },
      timestamp: new Date().toISOString(),
      window: "10s",
      containers: containers.map(({ name, resources }) => ({
        name,
        usage: { cpu: `${Math.round(millis(resources.requests?.cpu) * usage)}m`, memory: "1Mi" },
      })),
    }));
    return { kind: "PodMetricsList", apiVersion: metricsVersion, metadata: {}, items };
  };

  /** Registers this process as metrics-server, by a Service that is only a name. */
  const serveMetrics = async () => {
    const { path: folder } = opened.use(tempFolder());
    const authority = await createAuthority(folder, "ca");
    const { certFile, keyFile } = await createServerCertificate(folder, "metrics", authority, [
      "DNS:localhost",
    ]);
    const server = createServer(
      { cert: await readFile(certFile), key: await readFile(keyFile) },
      (request, response) => {
        const path = new URL(request.url ?? "", "https://localhost").pathname;
        metricsOf(path).then((answer) => {
          response.writeHead(answer ? 200 : 404, { "content-type": "application/json" });
          response.end(JSON.stringify(answer ?? {}));
        }, (error) => response.writeHead(500).end(String(error)));
      },
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    opened.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    await cluster.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "metrics", namespace: "kube-system" },
      spec: { type: "ExternalName", externalName: "localhost" },
    });
    const { port } = server.address() as AddressInfo;
    await cluster.apply({
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io" },
      spec: {
        group: "metrics.k8s.io",
        version: "v1beta1",
        service: { name: "metrics", namespace: "kube-system", port },
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    });
    await waitFor(
      "the API server passes requests on",
      async () => (await cluster.request(`/apis/${metricsVersion}/namespaces/default/pods`)).status === 200,
      deadlineMs,
    );
  };

  test("an HPA scales an NCAppSet by utilization, up and down", async (t) => {
    if (!cluster.has("selectable-fields")) return t.skip("this server has no admission policies, so no Pods");
    await cluster.apply({
      apiVersion,
      kind: setKind,
      metadata: { name: "web", namespace: "default" },
      spec: {
        replicas: 2,
        minReadySeconds: 0,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { shellFile: "/bin/true", cpuPCT: "10" } },
      },
    });
    const isReady = ({ status }: Pod) =>
      status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    const runs = (count: number) =>
      waitFor(`${count} Pods`, async () => {
        const pods = await podsOf("web");
        return pods.length === count && pods.every(isReady) && pods;
      }, deadlineMs);
    const [pod] = await runs(2);
    assert.ok(millis(pod!.spec.containers[0]!.resources.requests?.cpu) > 0);
    await cluster.apply({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "web", namespace: "default" },
      spec: {
        scaleTargetRef: { apiVersion, kind: setKind, name: "web" },
        minReplicas: 1,
        maxReplicas: 4,
        metrics: [{
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
        }],
        behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
      },
    });
    await runs(4);
    usage = 0.1;
    await runs(1);
    interface Autoscaler {
      status: { currentMetrics: { resource: { current: { averageUtilization: number } } }[] };
    }
    const { status } = await cluster.get<Autoscaler>(
      "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web",
    );
    assert.ok(Math.abs(status.currentMetrics[0]!.resource.current.averageUtilization - 10) <= 1);
  });

  test("an app that is evicted keeps the name of its Pod on the next node", async (t) => {
    if (!cluster.has("selectable-fields")) return t.skip("this server has no admission policies, so no Pods");
    await cluster.apply({
      apiVersion,
      kind: "NCApp",
      metadata: { name: "moving", namespace: "default", labels: { app: "moving" } },
      spec: { shellFile: "/bin/true", terminationGracePeriodSeconds: 1 },
    });
    const onNode = (isNode: (name: string) => boolean) =>
      waitFor("its one Pod", async () => {
        const [pod, ...others] = await podsOf("moving");
        return others.length === 0 && pod && isNode(pod.spec.nodeName) && pod;
      }, deadlineMs);
    const before = await onNode(() => true);
    await cluster.kubectl(["drain", before.spec.nodeName, "--ignore-daemonsets", "--timeout=60s"]);
    const after = await onNode((name) => name !== before.spec.nodeName);
    assert.deepEqual([before.metadata.name, after.metadata.name], ["moving", "moving"]);
    assert.notEqual(after.metadata.uid, before.metadata.uid);
  });
});

/** CPU quantities as Pods have them: "250m" or "1". */
function millis(quantity = "0"): number {
  return quantity.endsWith("m") ? Number.parseInt(quantity) : Number(quantity) * 1000;
}

/** What an agent does about Pods that are not its own, and about namespaces that refuse its Pods, with real controllers and kubectl. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { quotaKeys } from "../../src/api/names.ts";
import type { NCApp, NCAppSpec } from "../../src/api/types.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import type { Pod } from "../../src/report/pods/pods.ts";
import type { Cluster } from "../harness/cluster.ts";
import { waitFor } from "../wait-for.ts";

export interface PodScene {
  cluster: Cluster;
  /** The node of the agent. */
  node: string;
  createApp(name: string, lines: string[], spec?: NCAppSpec, metadata?: object): Promise<unknown>;
}

const deadlineMs = 60_000;

export function testForeignPods(scene: () => PodScene): void {
  const find = <T>(path: string) => scene().cluster.find<T>(path);
  const podPath = (name: string, namespace = "default") => `/api/v1/namespaces/${namespace}/pods/${name}`;
  const podBecomes = (name: string, what: string, check: (pod: Pod) => unknown, namespace?: string) =>
    waitFor(`the Pod ${name}: ${what}`, async () => {
      const pod = await find<Pod>(podPath(name, namespace));
      return pod && check(pod) ? pod : undefined;
    }, deadlineMs);
  const createPod = (name: string, namespace = "default", metadata: object = {}) => {
    const { cluster, node } = scene();
    return cluster.kubectl(["create", "-f", "-"], {
      input: JSON.stringify({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace, ...metadata },
        spec: { nodeName: node, containers: [{ name: "x", image: "x" }] },
      }),
    });
  };
  const isFailed = ({ status }: Pod) => status?.phase === "Failed";

  test("kubectl debug node fails with a reason, an event says why, and the Pod and its namespace can be deleted", async (t) => {
    const { cluster, node } = scene();
    if (!cluster.has("selectable-fields")) return t.skip("this server has no admission policies");
    await cluster.kubectl(["create", "namespace", "visit"]);
    // A Pod without its ServiceAccount is refused.
    await waitFor(
      "the service account",
      () => find("/api/v1/namespaces/visit/serviceaccounts/default"),
      deadlineMs,
    );
    const { stdout, stderr } = await cluster.kubectl(
      ["-n", "visit", "debug", `node/${node}`, "--image=busybox", "--profile=general"],
    );
    const [, name = ""] = /Creating debugging pod (\S+)/.exec(stdout + stderr) ?? [];
    const { status } = await podBecomes(name, "has failed", isFailed, "visit");
    assert.deepEqual([status?.reason, status?.message], [
      "PodNotSupported",
      `Pod was rejected: node ${node} runs NCApps and no containers`,
    ]);
    const line = (await cluster.kubectl(["-n", "visit", "get", "pod", name, "--no-headers"])).stdout;
    assert.match(line, /0\/1 +PodNotSupported/);
    await waitFor("an event", async () => {
      const { stdout } = await cluster.kubectl(["-n", "visit", "describe", "pod", name]);
      return /Warning +PodNotSupported .* nckubelet .*runs NCApps and no containers/.test(stdout);
    }, deadlineMs);
    // Nothing waits for a container that never starts.
    const shell = await cluster.kubectl(
      ["-n", "visit", "debug", `node/${node}`, "-i", "--image=busybox", "--profile=general", "--", "true"],
      { allowFail: true },
    );
    assert.notEqual(shell.code, 0, shell.stdout + shell.stderr);
    await cluster.kubectl(["-n", "visit", "delete", "pod", name, "--timeout=30s"]);
    await createPod("left", "visit", { finalizers: [] });
    await cluster.kubectl(["delete", "namespace", "visit", "--timeout=60s"]);
  });

  test("an agent may fail Pods of its own node and finish their deletion, and do nothing else with them", async (t) => {
    const { cluster, node } = scene();
    if (!cluster.has("selectable-fields")) return t.skip("this server has no admission policies");
    await createPod("guest");
    await createPod("stay", "default", { finalizers: ["example.com/stay"] });
    await podBecomes("guest", "has failed", isFailed);
    await cluster.kubectl(["delete", "pod", "stay", "--wait=false"]);
    const patch = (user: string, path: string, body: object) =>
      cluster.request(path, {
        method: "PATCH",
        token: cluster.tokenFor(user),
        contentType: "application/merge-patch+json",
        body,
      });
    const own = `nckubelet:${node}`;
    const status = `${podPath("guest")}/status`;
    const answers = {
      "another phase": await patch(own, status, { status: { phase: "Running" } }),
      "an address": await patch(own, status, { status: { phase: "Failed", podIP: "192.0.2.1" } }),
      "labels": await patch(own, status, {
        metadata: { labels: { app: "bank" } },
        status: { phase: "Failed" },
      }),
      "an annotation": await patch(own, status, {
        metadata: { annotations: { a: "b" } },
        status: { phase: "Failed" },
      }),
      "the Pod itself": await patch(own, podPath("guest"), { metadata: { labels: { app: "bank" } } }),
      "finalizers": await patch(own, podPath("stay"), { metadata: { finalizers: null } }),
      "another node's Pod": await patch("nckubelet:node-b", status, {
        status: { phase: "Failed", reason: "x" },
      }),
      "deletion that nobody asked for": await cluster.request(podPath("guest"), {
        method: "DELETE",
        token: cluster.tokenFor(own),
      }),
      "deletion on another node": await cluster.request(podPath("stay"), {
        method: "DELETE",
        token: cluster.tokenFor("nckubelet:node-b"),
      }),
    };
    for (const [what, { status, body }] of Object.entries(answers)) {
      assert.equal(status, 403, `${what}: ${body}`);
    }
    await patch("admin", podPath("stay"), { metadata: { finalizers: null } });
    await cluster.kubectl(["delete", "pod", "guest", "--timeout=30s"]);
    await waitFor("it is gone", async () => await find(podPath("stay")) === undefined, deadlineMs);
  });

  test("Pod Security restricted shows apps that run as a user, and says at others why they have no Pod", async (t) => {
    const { cluster, createApp } = scene();
    if (!cluster.has("selectable-fields")) return t.skip("this server has no Pod Security");
    await cluster.kubectl(["create", "namespace", "tight"]);
    await cluster.kubectl(["label", "namespace", "tight", "pod-security.kubernetes.io/enforce=restricted"]);
    await createApp("rooted", ["exec sleep 600"], {}, { namespace: "tight" });
    await createApp("user", [], { shellFile: "/bin/sleep", args: ["600"], runAsUser: "nobody" }, {
      namespace: "tight",
    });
    await podBecomes("user", "runs", ({ status }) => status?.phase === "Running", "tight");
    await cluster.kubectl(
      ["-n", "tight", "wait", "--for=condition=PodShown=False", "ncapp/rooted", "--timeout=60s"],
    );
    const { status } = await cluster.get<NCApp>(ncappPath("tight", "rooted"));
    const { reason, message = "" } = status?.conditions?.find(({ type }) => type === "PodShown") ?? {};
    assert.equal(reason, "PodSecurity");
    assert.match(message, /without a Pod.*violates PodSecurity "restricted:latest"/);
    assert.equal(status?.ready, true, "it runs");
    await waitFor("an event", async () => {
      const { stdout } = await cluster.kubectl(["-n", "tight", "describe", "ncapp", "rooted"]);
      return /Warning +PodSecurity/.test(stdout);
    }, deadlineMs);
    await cluster.kubectl(["delete", "namespace", "tight", "--timeout=60s"]);
  });

  test("the caps of an app are the requests and limits of its Pod, and count as allocated on the node", async () => {
    const { cluster, node, createApp } = scene();
    await createApp("sized", ["exec sleep 600"], { cpuPCT: "50", memPCT: "10" });
    const { spec, status, metadata } = await podBecomes("sized", "exists", () => true);
    const { requests, limits } = spec!.containers[0]!.resources!;
    assert.deepEqual(requests, limits);
    assert.equal(status?.qosClass, "Guaranteed");
    const { stdout } = await cluster.kubectl(["describe", "node", node]);
    assert.match(
      stdout,
      new RegExp(`default +sized +${requests!.cpu} \\(50%\\) +${limits!.cpu} \\(50%\\) +\\S+ \\(\\d+%\\)`),
    );
    await cluster.kubectl(["patch", "ncapp", "sized", "--type=merge", "-p", '{"spec":{"cpuPCT":"25"}}']);
    await podBecomes(
      "sized",
      "has the new cap",
      (pod) =>
        pod.metadata?.uid !== metadata?.uid &&
        pod.spec?.containers[0]?.resources?.requests?.cpu !== requests!.cpu,
    );
    await cluster.kubectl(["delete", "ncapp", "sized"]);
  });

  test("an app that stops while the server refuses writes of Pods is not ready seconds after it allows them again", async (t) => {
    const { cluster, createApp } = scene();
    if (!cluster.has("selectable-fields")) return t.skip("this server has no admission policies");
    await createApp("stopping", ["exec sleep 600"]);
    const isReady = ({ status }: Pod) =>
      status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    await podBecomes("stopping", "is ready", isReady);
    const binding = JSON.parse(
      (await cluster.kubectl(["get", "clusterrolebinding", "nckubelet-pods", "-o", "json"])).stdout,
    );
    await cluster.kubectl(["delete", "clusterrolebinding", "nckubelet-pods"]);
    const forbidden = () =>
      cluster.kubectl(
        [
          "auth",
          "can-i",
          "patch",
          "pods/status",
          `--as=nckubelet:${scene().node}`,
          "--as-group=nckubelet:agents",
        ],
        { allowFail: true },
      );
    await waitFor("the right is gone", async () => (await forbidden()).stdout.startsWith("no"), deadlineMs);
    await cluster.kubectl(["patch", "ncapp", "stopping", "--type=merge", "-p", '{"spec":{"suspend":true}}']);
    await cluster.kubectl([
      "wait",
      "--for=jsonpath={.status.ready}=false",
      "ncapp/stopping",
      "--timeout=60s",
    ]);
    await cluster.apply({ ...binding, metadata: { name: binding.metadata.name } });
    await podBecomes("stopping", "is not ready", (pod) => !isReady(pod));
    await cluster.kubectl(["delete", "ncapp", "stopping"]);
  });

  test("Kubernetes leaves what the scheduler writes into a quota", async () => {
    const { cluster } = scene();
    const path = "/api/v1/namespaces/counted/resourcequotas/team";
    const key = quotaKeys.cpuPCT;
    await cluster.kubectl(["create", "namespace", "counted"]);
    await cluster.kubectl(["create", "-f", "-"], {
      input: JSON.stringify({
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "team", namespace: "counted" },
        spec: { hard: { [key]: "100", "count/configmaps": "50" } },
      }),
    });
    const usedOf = async () =>
      (await find<{ status?: { used?: Record<string, string> } }>(path))?.status?.used;
    await waitFor("it is counted", async () => (await usedOf())?.["count/configmaps"], deadlineMs);
    await cluster.request(`${path}/status`, {
      method: "PATCH",
      contentType: "application/merge-patch+json",
      body: { status: { hard: { [key]: "100" }, used: { [key]: "50" } } },
    });
    const before = Number((await usedOf())!["count/configmaps"]);
    await cluster.kubectl(["-n", "counted", "create", "configmap", "one"]);
    // The quota controller replaces all that it claims.
    await cluster.kubectl(["-n", "counted", "delete", "configmap", "one"]);
    await cluster.kubectl([
      "-n",
      "counted",
      "patch",
      "quota",
      "team",
      "--type=merge",
      "-p",
      '{"spec":{"hard":{"pods":"7"}}}',
    ]);
    await waitFor("it is counted again", async () => {
      const used = await usedOf();
      return used?.pods === "0" && Number(used["count/configmaps"]) === before;
    }, deadlineMs);
    assert.equal((await usedOf())![key], "50");
    const refused = await cluster.request(path, {
      method: "PATCH",
      contentType: "application/merge-patch+json",
      body: { spec: { hard: { [key]: "12.5" } } },
    });
    assert.equal(refused.status, 422, "whole percent only");
    assert.match(refused.body, /must be an integer/);
    await cluster.kubectl(["delete", "namespace", "counted"]);
  });
}

/**
 * Four agents in two zones, the controllers, and a real control plane with its own controllers: how a set is spread, and what
 * `kubectl drain` does with it.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { agentGroup, agentUser, apiVersion } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncapps } from "../../src/kube/resources.ts";
import { listAll } from "../../src/kube/watch/watch.ts";
import { pluginCommands } from "../../src/cli/plugin/plugin.ts";
import { startAgentProcess } from "../agent-process.ts";
import { call } from "../cli/call.ts";
import type { Cluster } from "../harness/cluster.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnlessControllers } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { startCommand } from "./scheduler-command.ts";

const nodes = ["n1", "n2", "n3", "n4"];
const zoneOf: Record<string, string> = { n1: "a", n2: "a", n3: "b", n4: "b" };

/** Ends what watches, also if the test fails. */
class Watching extends AbortController implements Disposable {
  [Symbol.dispose]() {
    this.abort();
  }
}

describe("a drain", { skip: skipUnlessControllers(), timeout: 300_000 }, () => {
  const opened = new AsyncDisposableStack();
  let cluster: Cluster;
  let admin: KubeClient;
  let shellFile: string;

  before(async () => {
    cluster = await startControlPlane({
      users: [...defaultUsers, ...nodes.map((node) => ({ name: agentUser(node), groups: [agentGroup] }))],
      controllers: [],
      serviceAccounts: true,
      prepare: installCRD,
    });
    opened.defer(() => cluster.stop());
    admin = await cluster.clientOf("admin");
    shellFile = join(opened.use(tempFolder()).path, "app.sh");
    await writeFile(shellFile, "#!/bin/sh\nexec sleep 86399\n", { mode: 0o755 });
    await Promise.all(nodes.map(async (node) => {
      const kubeconfig = await cluster.kubeconfigFor(agentUser(node));
      const flags = ["--kubeconfig", kubeconfig, "--node-name", node, "--enforce", "best-effort"];
      opened.use(await startAgentProcess(flags));
    }));
    const kubeconfig = await cluster.kubeconfigFor("nckubelet-scheduler");
    opened.use(startCommand("controller", ["--listen", "", "--kubeconfig", kubeconfig]));
    for (const node of nodes) {
      await waitFor(`${node} is registered`, async () => (await get("node", node)) !== undefined);
      await cluster.kubectl(["label", "node", node, `topology.kubernetes.io/zone=${zoneOf[node]}`]);
    }
  });
  after(() => opened.disposeAsync());

  /** Where there are no admission policies, apps have no Pods that could be evicted. */
  const testPods = (name: string, work: () => Promise<void>) =>
    test(name, async (t) => {
      if (!cluster.has("selectable-fields")) return t.skip("this server has no admission policies");
      await work();
    });
  const get = async (...words: string[]) => {
    const { stdout } = await cluster.kubectl(["get", ...words, "--ignore-not-found", "-o", "json"]);
    return stdout ? JSON.parse(stdout) : undefined;
  };
  const create = (object: object) =>
    cluster.kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });
  const createSet = (name: string, replicas: number | undefined, spec: object = {}, more: object = {}) =>
    create({
      apiVersion,
      kind: "NCAppSet",
      metadata: { name },
      spec: {
        ...(replicas === undefined ? {} : { replicas }),
        minReadySeconds: 0,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { shellFile, terminationGracePeriodSeconds: 2, ...spec },
        },
        ...more,
      },
    });
  const apps = async (app: string) =>
    (await listAll<NCApp>(admin, { resource: ncapps, labelSelector: `app=${app}` })).items;
  const countsOf = (items: NCApp[]) =>
    nodes.map((node) => items.filter(({ spec, status }) => spec.nodeName === node && status?.ready).length)
      .join("/");
  const isSpread = (app: string, counts: string) =>
    waitFor(`${app} is ready as ${counts}`, async () => countsOf(await apps(app)) === counts, 60_000);
  const podsOn = async (node: string, app: string): Promise<string[]> =>
    ((await get("pods", "-l", `app=${app}`, "--field-selector", `spec.nodeName=${node}`))?.items ?? [])
      .map((pod: { metadata: { name: string } }) => pod.metadata.name);
  const havePods = (app: string, count: number) =>
    waitFor(`${app} has ${count} ready Pods`, async () => {
      const { items } = await get("pods", "-l", `app=${app}`);
      const ready = items.filter((pod: { status: { conditions?: { type: string; status: string }[] } }) =>
        pod.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
      );
      return ready.length === count && items.length === count;
    }, 60_000);
  /** kubectl's exit status and all that it printed. */
  const kubectl = (...words: string[]) =>
    cluster.kubectl(words).then(
      ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
      (error) => ({ code: 1, text: `${error.stdout ?? ""}${error.stderr ?? error}` }),
    );

  test("8 and 40 replicas without caps are spread evenly over nodes and zones", async () => {
    await createSet("web", 8);
    await isSpread("web", "2/2/2/2");
    await createSet("many", 40, { suspend: true });
    const bound = await waitFor("all of them are bound", async () => {
      const items = await apps("many");
      return items.length === 40 && items.every(({ spec }) => spec.nodeName) && items;
    }, 60_000);
    assert.deepEqual(nodes.map((node) => bound.filter(({ spec }) => spec.nodeName === node).length), [
      10,
      10,
      10,
      10,
    ]);
    await cluster.kubectl(["delete", "ncappset", "many"]);
    await waitFor("they are gone", async () => (await apps("many")).length === 0, 60_000);
  });

  testPods("a budget with maxUnavailable or percent knows how many Pods there should be", async () => {
    await havePods("web", 8);
    for (
      const [name, spec] of [["count", { maxUnavailable: 1 }], ["percent", { minAvailable: "50%" }]] as const
    ) {
      await create({
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name },
        spec: { ...spec, selector: { matchLabels: { app: "web" } } },
      });
      const { expectedPods, disruptionsAllowed } = await waitFor(`${name} is known`, async () => {
        const { status } = await get("pdb", name);
        return status?.currentHealthy === 8 && status;
      });
      assert.deepEqual([expectedPods, disruptionsAllowed], name === "count" ? [8, 1] : [8, 4]);
      await cluster.kubectl(["delete", "pdb", name]);
    }
  });

  test("kubectl drain --dry-run=server names the Pods, and moves nothing", async () => {
    const { code, text } = await kubectl("drain", "n1", "--dry-run=server");
    assert.equal(code, 0, text);
    for (const pod of await podsOn("n1", "web")) {
      assert.match(text, new RegExp(`evicting pod default/${pod} `));
    }
    assert.equal(countsOf(await apps("web")), "2/2/2/2");
  });

  testPods("kubectl drain waits for a budget, and gives up after its timeout", async () => {
    await create({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "web" },
      spec: { minAvailable: 8, selector: { matchLabels: { app: "web" } } },
    });
    await waitFor("the budget is known", async () => (await get("pdb", "web")).status?.currentHealthy === 8);
    const { code, text } = await kubectl("drain", "n1", "--timeout=3s");
    assert.equal(code, 1);
    assert.match(text, /Cannot evict pod as it would violate the pod's disruption budget/);
    assert.equal(countsOf(await apps("web")), "2/2/2/2");
    await cluster.kubectl(["uncordon", "n1"]);
  });

  testPods(
    "kubectl drain moves apps within their budget, waits for their end, and keeps those that stay",
    async () => {
      await cluster.kubectl(["patch", "pdb", "web", "--type=merge", "-p", '{"spec":{"minAvailable":7}}']);
      await createSet("each", undefined);
      await isSpread("each", "1/1/1/1");
      await create({
        apiVersion,
        kind: "NCApp",
        metadata: { name: "pinned", labels: { app: "pinned" } },
        spec: { shellFile, nodeName: "n1", terminationGracePeriodSeconds: 1 },
      });
      await isSpread("pinned", "1/0/0/0");
      await havePods("each", 4);
      await havePods("pinned", 1);
      let least = 8;
      using watching = new Watching();
      const watched = (async () => {
        while (!watching.signal.aborted) {
          const { items } = await get("pods", "-l", "app=web");
          const ready = items.filter((
            { metadata, status }: {
              metadata: { deletionTimestamp?: string };
              status: { conditions?: { type: string; status: string }[] };
            },
          ) =>
            !metadata.deletionTimestamp &&
            status.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
          );
          least = Math.min(least, ready.length);
        }
      })();
      const { code, text } = await kubectl("drain", "n1", "--ignore-daemonsets", "--timeout=90s");
      assert.equal(code, 0, text);
      assert.match(text, /node\/n1 drained/);
      const left = await apps("web");
      assert.ok(left.every(({ spec, status }) => spec.nodeName !== "n1" && status?.nodeName !== "n1"));
      assert.deepEqual(await podsOn("n1", "web"), []);
      watching.abort();
      await watched;
      assert.ok(least >= 7, `${least} were ready`);
      await waitFor(
        "all run elsewhere",
        async () => (await apps("web")).every(({ status }) => status?.ready),
        60_000,
      );
      assert.match(countsOf(await apps("web")), /^0\/[23]\/[23]\/[23]$/);
      assert.deepEqual([countsOf(await apps("each")), countsOf(await apps("pinned"))], [
        "1/1/1/1",
        "1/0/0/0",
      ]);
      await cluster.kubectl(["delete", "pdb", "web"]);
      await cluster.kubectl(["uncordon", "n1"]);
    },
  );

  testPods("a Pod that is deleted on a schedulable node comes back, and its app stays", async () => {
    const [pod = ""] = await podsOn("n2", "web");
    const { metadata: { uid } } = await get("pod", pod);
    await cluster.kubectl(["delete", "pod", pod]);
    await waitFor("it is back", async () => {
      const again = await get("pod", pod);
      return again && again.metadata.uid !== uid && again.spec.nodeName === "n2";
    });
    assert.equal((await get("ncapp", pod)).spec.nodeName, "n2");
  });

  testPods("kubectl drain --disable-eviction deletes Pods, which moves their apps", async () => {
    const before = (await podsOn("n2", "web")).length;
    assert.ok(before > 0);
    const { code, text } = await kubectl("drain", "n2", "--disable-eviction", "--timeout=60s");
    assert.equal(code, 0, text);
    assert.ok(
      (await apps("web")).every(({ spec, status }) => spec.nodeName !== "n2" && status?.nodeName !== "n2"),
    );
    await cluster.kubectl(["uncordon", "n2"]);
  });

  testPods("kubectl ncapp drain respects budgets and maxUnavailable of the set", async () => {
    await waitFor("all run", async () => (await apps("web")).every(({ status }) => status?.ready), 60_000);
    const budget = (minAvailable: number) => ({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "web" },
      spec: { minAvailable, selector: { matchLabels: { app: "web" } } },
    });
    await havePods("web", 8);
    await create(budget(8));
    await waitFor("the budget is known", async () => (await get("pdb", "web")).status?.currentHealthy === 8);
    const drain = (timeout: string) =>
      call(["drain", "n3", "--timeout", timeout, "--kubeconfig", cluster.kubeconfig], {
        table: pluginCommands,
        program: "kubectl ncapp",
      }).done;
    await cluster.kubectl(["delete", "ncapp", "pinned"]);
    const refused = await drain("1s");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /disruption budget/);
    assert.ok((await apps("web")).every(({ status }) => status?.ready));
    await cluster.kubectl(["delete", "pdb", "web"]);
    let most = 0;
    using watching = new Watching();
    const watched = (async () => {
      while (!watching.signal.aborted) {
        most = Math.max(most, (await apps("web")).filter(({ status }) => !status?.ready).length);
      }
    })();
    const drained = await drain("90s").finally(() => watching.abort());
    await watched;
    assert.deepEqual([drained.code, most], [0, 1], drained.stderr);
    assert.ok((await apps("web")).every(({ spec }) => spec.nodeName !== "n3"));
    await cluster.kubectl(["uncordon", "n3"]);
  });

  testPods("a rollout waits for the budget, and says so", async () => {
    await waitFor("all run", async () => (await apps("web")).every(({ status }) => status?.ready), 60_000);
    await havePods("web", 8);
    await create({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "web" },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: "web" } } },
    });
    await waitFor("the budget is known", async () => (await get("pdb", "web")).status?.currentHealthy === 8);
    const patch = '{"spec":{"template":{"spec":{"args":["1"]}}}}';
    await cluster.kubectl(["patch", "ncappset", "web", "--type=merge", "-p", patch]);
    await waitFor("it waits", async () => {
      const { status } = await get("ncappset", "web");
      const progress = status.conditions.find(({ type }: { type: string }) => type === "Progressing");
      return /waits for the PodDisruptionBudget web/.test(progress.message);
    });
    assert.ok((await apps("web")).every(({ spec }) => spec.args === undefined));
    await cluster.kubectl(["delete", "pdb", "web"]);
    await waitFor(
      "it goes on",
      async () => (await apps("web")).every(({ spec }) => spec.args?.[0] === "1"),
      90_000,
    );
  });

  test("after the drains a rollout spreads the set again", async () => {
    await waitFor("all run", async () => (await apps("web")).every(({ status }) => status?.ready), 60_000);
    await cluster.kubectl([
      "patch",
      "ncappset",
      "web",
      "--type=merge",
      "-p",
      '{"spec":{"template":{"spec":{"args":["2"]}}}}',
    ]);
    await isSpread("web", "2/2/2/2");
  });
});

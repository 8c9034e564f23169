/** NCAppSets on a real API server with real controllers; the agents are hollow, but for one. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pluginCommands } from "../../src/cli/plugin/plugin.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { KubeError } from "../../src/kube/kube-error.ts";
import type { NCApp } from "../../src/api/types.ts";
import { controllerRevisions, ncappPath } from "../../src/kube/resources.ts";
import { listAll } from "../../src/kube/watch/watch.ts";
import { startAgentProcess } from "../agent-process.ts";
import { call } from "../cli/call.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { createApp } from "../harness/create-app.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnlessControllers } from "../harness/parts.ts";
import { startHollowAgents } from "../hollow/hollow-agents.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { behaveAsJob, testJobs } from "./jobs.ts";
import { type RunningSets, SetsUser, startSets, watchReadiness } from "./running-sets.ts";
import { startSchedulerCommand } from "./scheduler-command.ts";

const count = 8;
const hollowNodes = Array.from({ length: count }, (_, at) => `hollow-${at}`);

describe("NCAppSets on a real cluster", { skip: skipUnlessControllers(), timeout: 600_000 }, () => {
  const opened = new AsyncDisposableStack();
  let cluster: Cluster;
  let admin: KubeClient;
  let user: SetsUser;
  let kubeconfig = "";
  let sets: RunningSets | undefined;

  before(async () => {
    cluster = await startControlPlane({ controllers: [], prepare: installCRD });
    opened.defer(() => cluster.stop());
    admin = await cluster.clientOf("admin");
    user = new SetsUser(admin);
    kubeconfig = await cluster.kubeconfigFor("nckubelet-scheduler");
    opened.use(
      await startHollowAgents({
        nodes: hollowNodes,
        reach: () => ({ kubeconfig: cluster.kubeconfig }),
        behave: (app) =>
          behaveAsJob(app) ?? (app.spec.shellFile?.includes("bad") ? { exit: { code: 1, afterMs: 50 } } : {}),
      }),
    );
    sets = await startSets({ kubeconfig });
  });
  after(async () => {
    await sets?.[Symbol.asyncDispose]();
    await opened.disposeAsync();
  });

  const complete = (name: string) =>
    waitFor(`the rollout of ${name} is complete`, () => user.isComplete(name), 120_000);
  const remove = async (name: string) => {
    await cluster.kubectl(["delete", "ncappset", name, "--wait=false"]);
    await waitFor(`the apps of ${name} are gone`, async () => (await user.apps(name)).length === 0, 90_000);
  };

  test("a set runs on every node, and a rollout keeps all but maxUnavailable ready", async () => {
    await user.create("web", { update: { maxUnavailable: "25%" } });
    await waitFor("all nodes are there", async () => (await user.get("web")).status?.desired === count);
    await complete("web");
    const apps = await user.apps("web");
    assert.deepEqual(apps.map(({ metadata }) => metadata.name), hollowNodes.map((node) => `web-${node}`));
    await using witness = await watchReadiness(admin, "web");
    witness.takeWorst();
    await user.change("web", { shellFile: "/opt/v2.sh" });
    await complete("web");
    const worst = witness.takeWorst();
    assert.ok(worst >= 1 && worst <= 2, `${worst} apps were not ready`);
    assert.ok((await user.apps("web")).every(({ spec }) => spec.shellFile === "/opt/v2.sh"));
    assert.match(await sets!.metrics(), /nckubelet_set_available\{namespace="default",set="web"\} 8/);
    const { items } = await listAll(admin, { resource: controllerRevisions, namespace: "default" });
    assert.equal(items.length, 2);
    // kubectl rollout restart would change only an annotation of the template: every app restarts, within the budget.
    const before = new Map(
      (await user.apps("web")).map(({ metadata, status }) => [metadata.name, status?.startTime]),
    );
    await waitFor(
      "a second has passed since the last start",
      () => Date.now() - Math.max(...[...before.values()].map((text) => Date.parse(text ?? ""))) > 1500,
    );
    await user.patch("web", {
      template: { metadata: { annotations: { "app.example.com/restartedAt": "now" } } },
    });
    await complete("web");
    assert.ok(witness.takeWorst() <= 2);
    for (const { metadata, status } of await user.apps("web")) {
      assert.notEqual(status?.startTime, before.get(metadata.name), `${metadata.name} was not restarted`);
    }
  });

  test("a revision that fails stops the rollout; kubectl describe shows where and why", async () => {
    // The script lives for a moment: without a time to prove itself, an app counts as available in between.
    await user.patch("web", { minReadySeconds: 2, update: { maxUnavailable: 1 } });
    await user.change("web", { shellFile: "/opt/bad.sh" });
    await waitFor(
      "the rollout stalls",
      async () => (await user.condition("web", "Stalled")).status === "True",
    );
    const bad = (await user.apps("web")).filter(({ spec }) => spec.shellFile === "/opt/bad.sh");
    assert.equal(bad.length, 1);
    const stdout = await waitFor("the event", async () => {
      const { stdout } = await cluster.kubectl(["describe", "ncappset", "web"]);
      return /Warning +Stalled/.test(stdout) && stdout;
    });
    assert.match(
      stdout,
      /the rollout of web-\w+ was stopped: 1 app has failed \(maxFailed is 1\): default\/web-hollow-\d on node hollow-\d: Error/,
    );
    // The budget is the matter of other tests: here all apps may prove themselves at the same time.
    await user.patch("web", {
      update: { maxUnavailable: count },
      template: { spec: { shellFile: "/opt/v3.sh" } },
    });
    await complete("web");
    assert.equal((await user.condition("web", "Stalled")).status, "False");
  });

  test("kubectl ncapp rollout undo goes back to a revision that the controller wrote", async () => {
    const { done } = call(["rollout", "undo", "web"], {
      table: pluginCommands,
      program: "kubectl ncapp",
      env: { KUBECONFIG: cluster.kubeconfig },
    });
    const { code, stderr } = await done;
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal((await user.get("web")).spec.template.spec.shellFile, "/opt/bad.sh");
    await user.change("web", { shellFile: "/opt/v3.sh" });
    await complete("web");
  });

  test("onFailure Rollback brings the stable revision back and leaves the spec alone", async () => {
    await user.patch("web", { update: { maxUnavailable: 2, onFailure: "Rollback" } });
    await user.change("web", { shellFile: "/opt/bad2.sh" });
    await waitFor(
      "it rolls back",
      async () => (await user.condition("web", "Stalled")).reason === "RolledBack",
    );
    await waitFor("all apps are back and available", async () => {
      const apps = await user.apps("web");
      const { status } = await user.get("web");
      return apps.every(({ spec, status }) => spec.shellFile === "/opt/v3.sh" && status?.ready) &&
        status?.available === count;
    });
    assert.equal((await user.get("web")).spec.template.spec.shellFile, "/opt/bad2.sh");
    await remove("web");
  });

  test("the controller is killed after every single write, and the budget is held throughout", async () => {
    await user.create("killed", { update: { maxUnavailable: 2 } });
    await complete("killed");
    await sets![Symbol.asyncDispose]();
    sets = undefined;
    await using witness = await watchReadiness(admin, "killed");
    witness.takeWorst();
    await user.change("killed", { shellFile: "/opt/v2.sh" });
    let kills = 0;
    for (let isDone = false; !isDone && kills < 200;) {
      const wrote = Promise.withResolvers<void>();
      const victim = await startSets({
        kubeconfig,
        onWrite({ path }) {
          if (path.includes("/events")) return;
          wrote.resolve();
          throw new Error("killed");
        },
      });
      const finished = waitFor("complete", () => user.isComplete("killed")).then(
        () => "done" as const,
        () => "done" as const,
      );
      isDone = await Promise.race([wrote.promise.then(() => "wrote" as const), finished]) === "done";
      await victim.kill();
      if (!isDone) kills++;
    }
    assert.ok(kills > count, `it was killed ${kills} times`);
    const worst = witness.takeWorst();
    assert.ok(worst <= 2, `${worst} apps were not ready`);
    assert.ok(await user.isComplete("killed"));
    sets = await startSets({ kubeconfig });
    await remove("killed");
  });

  test("writes whose answers are lost are read again, and the budget is held", async () => {
    await sets![Symbol.asyncDispose]();
    sets = undefined;
    await user.create("lossy", { update: { maxUnavailable: 2 } });
    let writes = 0;
    let lost = 0;
    const lossy = await startSets({
      kubeconfig,
      onWrite({ path, method = "" }) {
        if (path.includes("/events") || ++writes % 4 !== 0) return;
        lost++;
        throw new KubeError("no answer", { method, url: path, reason: "Timeout" });
      },
    });
    await complete("lossy");
    await using witness = await watchReadiness(admin, "lossy");
    witness.takeWorst();
    await user.change("lossy", { shellFile: "/opt/v2.sh" });
    await complete("lossy");
    assert.ok(lost >= 4, `${lost} answers were lost`);
    assert.ok(witness.takeWorst() <= 2);
    assert.equal((await user.apps("lossy")).length, count);
    await lossy[Symbol.asyncDispose]();
    sets = await startSets({ kubeconfig });
    await remove("lossy");
  });

  test("of two controllers one works; when it is killed, the other goes on within the budget", async () => {
    await sets![Symbol.asyncDispose]();
    sets = undefined;
    const first = await startSets({ kubeconfig: cluster.kubeconfig, elect: true });
    await user.create("two", { update: { maxUnavailable: 1 } });
    await complete("two");
    await using second = await startSets({ kubeconfig: cluster.kubeconfig, elect: true });
    await using witness = await watchReadiness(admin, "two");
    witness.takeWorst();
    await user.change("two", { shellFile: "/opt/v2.sh" });
    await waitFor("some apps are updated", async () => ((await user.get("two")).status?.updated ?? 0) >= 2);
    await first.kill();
    await complete("two");
    assert.ok(witness.takeWorst() <= 1);
    assert.match(await second.metrics(), /nckubelet_set_updated\{namespace="default",set="two"\} 8/);
    await second[Symbol.asyncDispose]();
    sets = await startSets({ kubeconfig });
    await remove("two");
  });

  test("kubectl delete --cascade=orphan leaves the apps; a new set of the same name adopts them as they are", async () => {
    await user.create("kept");
    await complete("kept");
    const before = await user.apps("kept");
    await cluster.kubectl(["delete", "ncappset", "kept", "--cascade=orphan"]);
    await waitFor(
      "they have no owner",
      async () => (await user.apps("kept")).every(({ metadata }) => !("ownerReferences" in metadata)),
    );
    await user.create("kept");
    await complete("kept");
    const after = await user.apps("kept");
    const identity = (
      { metadata, status }: typeof before[number],
    ) => [metadata.uid, metadata.generation, status?.startTime];
    assert.deepEqual(after.map(identity), before.map(identity));
    const { uid } = (await user.get("kept")).metadata;
    assert.ok(after.every(({ metadata }) => JSON.stringify(metadata).includes(`"uid":"${uid}"`)));
    await remove("kept");
    const { items } = await listAll(admin, { resource: controllerRevisions, namespace: "default" });
    assert.deepEqual(items, []);
  });

  test("an app of someone else with a wanted name is reported and not touched", async () => {
    const { metadata: { resourceVersion } } = await createApp(admin, "taken-hollow-3", {});
    await user.create("taken");
    await waitFor(
      "the collision is reported",
      async () => (await user.condition("taken", "Progressing")).reason === "NameCollision",
    );
    await waitFor(
      "the other apps run",
      async () => (await user.get("taken")).status?.available === count - 1,
    );
    const found = await cluster.get<NCApp>(ncappPath("default", "taken-hollow-3"));
    assert.equal(found.metadata.resourceVersion, resourceVersion);
    await remove("taken");
    await cluster.kubectl(["delete", "ncapp", "taken-hollow-3"]);
  });

  testJobs(() => ({
    cluster,
    user,
    kubeconfig,
    nodes: hollowNodes,
    async stopSets() {
      await sets?.[Symbol.asyncDispose]();
      sets = undefined;
    },
    async startSets() {
      sets = await startSets({ kubeconfig });
    },
  }));

  test("kubectl scale changes the number of apps, and a change of caps keeps the processes of a real agent", async (t) => {
    const folder = tempFolder(t).path;
    const shellFile = join(folder, "app.sh");
    await writeFile(shellFile, "#!/bin/sh\nexec sleep 86398\n", { mode: 0o755 });
    await using _agent = await startAgentProcess([
      ...["--kubeconfig", cluster.kubeconfig, "--node-name", "real-1", "--enforce", "best-effort"],
    ]);
    await using _scheduler = await startSchedulerCommand(["--kubeconfig", kubeconfig]);
    const nodeSelector = { "kubernetes.io/hostname": "real-1" };
    await user.create("real", { replicas: 3, update: { maxUnavailable: 2 } }, {
      shellFile,
      cpuPCT: 1,
      nodeSelector,
    });
    await complete("real");
    await cluster.kubectl(["scale", "ncappset/real", "--replicas=7"]);
    await waitFor("seven apps", async () => (await user.get("real")).status?.available === 7);
    const scale = await cluster.request(
      "/apis/app.example.com/v1alpha1/namespaces/default/ncappsets/real/scale",
    );
    const { spec, status } = JSON.parse(scale.body);
    assert.deepEqual({ spec, status }, {
      spec: { replicas: 7 },
      status: { replicas: 7, selector: "app=real" },
    });
    const pids = async () =>
      (await user.apps("real")).map(({ metadata, status }) => [metadata.name, status?.pid]);
    const before = await pids();
    await user.change("real", { cpuPCT: 2 });
    await complete("real");
    assert.ok((await user.apps("real")).every(({ spec }) => spec.cpuPCT === 2));
    assert.deepEqual(await pids(), before);
    await cluster.kubectl(["scale", "ncappset/real", "--replicas=2"]);
    await waitFor("two apps", async () => (await user.apps("real")).length === 2);
    await remove("real");
  });
});

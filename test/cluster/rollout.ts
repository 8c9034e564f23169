/** `kubectl ncapp rollout` on a real API server. The test does what the controller would: it writes revisions and the status. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { annotations, apiVersion, setAnnotations, setKind, setLabels } from "../../src/api/names.ts";
import type { NCAppSet } from "../../src/api/types.ts";
import { pluginCommands } from "../../src/cli/plugin/plugin.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import { createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import { controllerRevisions, ncappsets, resourcePath } from "../../src/kube/resources.ts";
import { call } from "../cli/call.ts";
import type { Cluster } from "../harness/cluster.ts";
import { waitFor } from "../wait-for.ts";

const labels = { app: "web" };
const template = (shellFile: string, more: object = {}) => ({
  metadata: { labels },
  spec: { shellFile, ...more },
});

export function testRollout(shared: () => Cluster): void {
  let cluster: Cluster;
  let client: KubeClient;
  const at = { namespace: "default", name: "web" };
  const path = resourcePath(ncappsets, at);

  before(async () => {
    cluster = shared();
    client = createKubeClient(await loadAccess({ kubeconfig: cluster.kubeconfig }));
    const set = await client.request<NCAppSet>({
      method: "POST",
      path: resourcePath(ncappsets, { namespace: "default" }),
      body: {
        apiVersion,
        kind: setKind,
        metadata: { name: "web" },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: template("/srv/new.sh", { cpuPCT: "20" }),
          update: { canary: { count: 1 } },
        },
      },
    });
    const owner = { apiVersion, kind: setKind, name: "web", uid: set.metadata.uid, controller: true };
    for (
      const [revision, name, shellFile] of [[1, "web-old", "/srv/old.sh"], [2, "web-new", "/srv/new.sh"]]
    ) {
      await client.request({
        method: "POST",
        path: resourcePath(controllerRevisions, { namespace: "default" }),
        body: {
          apiVersion: "apps/v1",
          kind: "ControllerRevision",
          metadata: { name, labels: { [setLabels.revision]: name }, ownerReferences: [owner] },
          revision,
          data: template(String(shellFile)),
        },
      });
    }
  });
  after(() => client?.close());

  const read = () => client.request<NCAppSet>({ path });
  /** Writes a status as the controller does. */
  const report = async (updated: number, reason: string) => {
    const { metadata: { generation } } = await read();
    const time = "2026-11-17T00:00:00Z";
    const condition = {
      type: "Progressing",
      status: "True",
      reason,
      message: "",
      lastTransitionTime: time,
    };
    const status = {
      observedGeneration: generation,
      desired: 2,
      updated,
      available: 2,
      updateRevision: "web-new",
      currentRevision: "web-old",
      stableRevision: "web-old",
      conditions: [condition],
    };
    await client.request({ method: "PATCH", path: `${path}/status`, body: { status } });
  };
  const rollout = (...words: string[]) =>
    call(["rollout", ...words], {
      table: pluginCommands,
      program: "kubectl ncapp",
      env: { KUBECONFIG: cluster.kubeconfig },
    });

  test("status follows the set until its rollout is complete", async () => {
    await report(1, "RolloutInProgress");
    const { output, done } = rollout("status", "web", "--timeout", "60s");
    await waitFor("it shows the first step", () => output.stdout.includes("1 of 2 apps are updated"));
    await report(2, "RolloutComplete");
    const { code, stdout, stderr } = await done;
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /\nset default\/web: complete: 2 of 2 apps are updated, 2 are available\n$/);
  });

  test("history, promote, restart, pause and resume do what the API server accepts", async () => {
    await report(1, "WaitingForPromotion");
    const { stdout } = await rollout("history", "web").done;
    assert.match(stdout, /^1 +web-old +current,stable +\d+s +-\n2 +web-new +update /m);
    for (const verb of ["promote", "restart", "pause", "resume"]) {
      const { code, stderr } = await rollout(verb, "web").done;
      assert.deepEqual([verb, code, stderr], [verb, 0, ""]);
    }
    const { metadata, spec } = await read();
    assert.equal(metadata.annotations?.[setAnnotations.promote], "web-new");
    assert.match(spec.template.metadata.annotations?.[annotations.restartedAt] ?? "", /^2/);
    assert.equal(spec.paused, false);
  });

  test("undo puts exactly the template of the revision into the spec", async () => {
    await report(1, "RolloutInProgress");
    const { code, stdout } = await rollout("undo", "web").done;
    assert.deepEqual([code, stdout], [0, "set default/web goes back to revision 1 (web-old)\n"]);
    const { spec } = await read();
    assert.deepEqual([spec.template.spec.shellFile, spec.template.spec.cpuPCT], ["/srv/old.sh", undefined]);
    assert.equal(spec.template.metadata.annotations, undefined);
    assert.deepEqual([spec.replicas, spec.update?.canary?.count], [2, 1]);
  });
}

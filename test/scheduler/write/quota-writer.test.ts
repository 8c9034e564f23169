import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeClient, KubeRequest } from "../../../src/kube/client/client.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { createQuotaWriter } from "../../../src/scheduler/write/write.ts";
import { json, withClient } from "../../kube/fake-server.ts";
import { waitFor } from "../../wait-for.ts";
import { quota } from "../objects.ts";
import { createTestCluster } from "../test-cluster.ts";

test("a quota's used is written when it changes, one request at a time", async () => {
  const bodies: string[] = [];
  await withClient(({ body }, response) => {
    bodies.push(body);
    const { status } = JSON.parse(body);
    json(response, {
      ...quota("team", { cpuPCT: "50" }, status),
      metadata: { ...quota("team", {}).metadata, resourceVersion: "2" },
    });
  }, async (client) => {
    const { cluster, apply } = createTestCluster(["a"]);
    cluster.rules.applyQuota(quota("team", { cpuPCT: "50" }));
    apply("web", { nodeName: "a", cpuPCT: 20 });
    const writeQuotas = createQuotaWriter(client, {
      cluster,
      log: silentLogger,
      signal: new AbortController().signal,
    });
    writeQuotas();
    writeQuotas();
    await waitFor("the answer is taken over", () => {
      const [known] = cluster.rules.quotas("default");
      return known?.status.used["app.example.com/cpuPCT"] === "20";
    });
    writeQuotas();
    assert.equal(bodies.length, 1);
    assert.equal(JSON.parse(bodies[0]!).metadata.uid, "uid-team");
  });
});

test("the answer to a quota's status restores neither a quota that is gone nor an older one", async () => {
  const known: Record<string, string | undefined> = { gone: undefined, newer: "80" };
  for (const [what, expected] of Object.entries(known)) {
    const { cluster } = createTestCluster();
    let answered = 0;
    await withClient((_, response) => {
      const changed = quota("team", { cpuPCT: "80" });
      changed.metadata!.resourceVersion = "102";
      if (expected) cluster.rules.applyQuota(changed);
      else cluster.rules.removeQuota(changed);
      const old = quota("team", { cpuPCT: "50" });
      json(response, { ...old, metadata: { ...old.metadata, resourceVersion: "101" } });
    }, async (client) => {
      cluster.rules.applyQuota(quota("team", { cpuPCT: "50" }));
      const counting: KubeClient = {
        ...client,
        request: <T>(request: KubeRequest) => client.request<T>(request).finally(() => answered++),
      };
      const { signal } = new AbortController();
      createQuotaWriter(counting, { cluster, log: silentLogger, signal })();
      await waitFor("it is answered", () => answered === 1);
      const found = cluster.rules.quotas("default").map(({ hard }) => hard.cpu);
      assert.deepEqual(found, expected ? [Number(expected) * 1000] : [], what);
    });
  }
});

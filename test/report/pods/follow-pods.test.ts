import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults } from "../../../src/api/validate/validate.ts";
import { pods as podResource } from "../../../src/kube/resources.ts";
import type { Identified } from "../../../src/kube/wire.ts";
import { followPods } from "../../../src/report/pods/follow-pods.ts";
import type { Pod } from "../../../src/report/pods/pods.ts";
import { newPod } from "../../../src/report/pods/pod-object.ts";
import { readPod } from "../../../src/report/pods/pod-plan.ts";
import { ncapp } from "../../builders.ts";
import { FakeApi } from "../../kube/fake-api.ts";
import { withClient } from "../../kube/fake-server.ts";
import { createTestLog } from "../test-log.ts";

test("the list of Pods comes in small pages; of each Pod only what is needed stays, and of other nodes none", async () => {
  const app = ncapp({ metadata: { name: "web", labels: { tier: "edge" } } });
  const owner = { namespace: "default", name: "web", uid: "uid-web" };
  const shown = { owner, app: { ...app, spec: applyDefaults({}) } };
  const api = new FakeApi();
  const ending = new AbortController();
  const size = { cpus: 4, memoryBytes: 8_000_000_000 };
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  const pod: Pod = { ...newPod(shown, { name: "n1", size }, "web"), status };
  const stored = api.add(podResource, pod);
  api.add(podResource, newPod(shown, { name: "n2", size }, "web-2"));
  const listed: Identified<Pod>[] = [];
  await withClient(api.answer, async (client) => {
    await followPods({
      client,
      node: "n1",
      log: createTestLog(),
      onListed({ items }) {
        listed.push(...items);
        ending.abort();
      },
      onApplied() {},
      onDeleted() {},
      signal: AbortSignal.any([ending.signal, AbortSignal.timeout(10_000)]),
    });
  });
  assert.deepEqual(listed.map(({ metadata, spec }) => [metadata.name, spec]), [[
    "web",
    { nodeName: "n1", containers: [{ name: "app", image: "nckubelet/script" }] },
  ]]);
  assert.deepEqual(readPod(listed[0]!), readPod(stored));
  assert.deepEqual(
    api.asked.map(({ query }) => query).filter((query) => query?.limit).map((query) => query?.limit),
    ["50"],
  );
});

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { createHub } from "../../../src/kube/follower.ts";
import { ncappPath } from "../../../src/kube/resources.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { followCluster } from "../../../src/scheduler/follow/follow.ts";
import { FakeApi } from "../../kube/fake-api.ts";
import { accept, errorLine, line, listOf, withClient } from "../../kube/fake-server.ts";
import { waitFor } from "../../wait-for.ts";
import { ncapp } from "../sample-cluster.ts";
import { createTestCluster } from "../test-cluster.ts";

/** Follows into the cluster while `use` runs. */
async function following(
  client: KubeClient,
  { cluster }: Pick<ReturnType<typeof createTestCluster>, "cluster">,
  use: () => Promise<unknown>,
): Promise<void> {
  const stopping = new AbortController();
  const running = followCluster(createHub(client, silentLogger), cluster, () => {}).run(stopping.signal);
  try {
    await use();
  } finally {
    stopping.abort();
    await running;
  }
}

test("after a restore of etcd the list is applied: its apps wait again, though their versions are lower", async () => {
  const scene = createTestCluster(["a"]);
  const versioned = (version: string, nodeName?: string) => {
    const object = ncapp("web", { nodeName });
    object.metadata.resourceVersion = version;
    return object;
  };
  let lists = 0;
  const api = new FakeApi();
  api.intercept = ({ path, query }) => {
    if (path !== ncappPath()) return undefined;
    const isWatch = query?.watch === "true";
    const expired = errorLine(410, "Expired", "too old resource version");
    // What it goes back to is later than the first list, but not than what the watch has brought.
    if (!isWatch) return lists++ === 0 ? listOf([versioned("20")], "30") : listOf([versioned("40")], "50");
    if (lists > 1) return undefined;
    return (response: ServerResponse) => accept(response, line("MODIFIED", versioned("90", "a")), expired);
  };
  await withClient(api.answer, (client) =>
    following(client, scene, async () => {
      await waitFor(
        "the list is taken over",
        () => scene.cluster.apps.get("default/web")?.resourceVersion === "40",
      );
      assert.equal(scene.cluster.apps.get("default/web")?.nodeName, undefined);
      assert.equal(scene.takeCalls().at(-1), "default/web waits, changed");
    }));
});

test("a watch of Leases times out after 10 s without an answer: until then nodes seem silent", async () => {
  const scene = createTestCluster();
  const limits = new Map<string, number | undefined>();
  await withClient(new FakeApi().answer, (client) => {
    const seen: KubeClient = {
      ...client,
      stream(request) {
        limits.set(request.path.split("/").at(-1)!, request.timeoutMs);
        return client.stream(request);
      },
    };
    return following(seen, scene, () => waitFor("all are followed", () => limits.size === 7));
  });
  assert.deepEqual([limits.get("leases"), limits.get("ncapps")], [10_000, undefined]);
});

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  describeRequest,
  leases,
  ncappPath,
  ncapps,
  nodes,
  resourceQuotas,
} from "../../src/kube/resources.ts";
import type { NCApp } from "../../src/api/types.ts";
import { createLogger } from "../../src/lib/log.ts";
import { runController, type RunOptions } from "../../src/controller/controller.ts";
import { FakeApi } from "../kube/fake-api.ts";
import { accept, withClient } from "../kube/fake-server.ts";
import { waitFor } from "../wait-for.ts";
import { ncapp } from "./sample-cluster.ts";
import { lease, node, quota } from "./objects.ts";

/** Runs a scheduler beside a server while `use` does. */
async function scheduling(
  api: FakeApi,
  use: (log: string[]) => Promise<void>,
  given: Partial<RunOptions> = {},
): Promise<void> {
  await withClient(api.answer, async (client) => {
    const lines: string[] = [];
    const stopping = new AbortController();
    const running = runController({
      names: ["scheduler"],
      client,
      log: createLogger({ write: (line) => void lines.push(line) }),
      version: "test",
      identity: "first",
      schedulerName: "nc-scheduler",
      policy: "spread",
      leaderElect: false,
      tickMs: 10,
      ...given,
    }, stopping.signal);
    try {
      await use(lines);
    } finally {
      stopping.abort();
      await running;
    }
  });
}

test("while the Leases cannot be watched no app is unbound", async () => {
  const api = new FakeApi();
  api.add(ncapps, ncapp("web", { nodeName: "a" }));
  api.add(nodes, node("a", { spec: { taints: [{ key: "down", effect: "NoExecute" }] } }));
  api.add(leases, lease("a", Date.now()));
  api.add(resourceQuotas, quota("team", { cpuPCT: "50" }));
  const eviction = `PATCH ${ncappPath("default", "web")}`;
  let leaseWatches = 0;
  let quotaWrites = 0;
  let showLeases = () => {};
  const mayListApps = Promise.withResolvers<void>();
  api.intercept = ({ method, path, query }) => {
    const { verb, resource } = describeRequest(method, path);
    if (resource === "leases" && query?.watch === "true") {
      // The second watch shows that the failure of the first was noticed: only then are there apps to be judged.
      if (++leaseWatches === 1) return 500;
      mayListApps.resolve();
      return (response: ServerResponse) => showLeases = () => accept(response);
    }
    if (resource === "ncapps" && verb === "list" && query?.watch !== "true") return mayListApps.promise;
    // Sent again with every look at the cluster.
    if (resource === "resourcequotas/status" && verb === "patch") return ++quotaWrites && 409;
  };
  await scheduling(api, async () => {
    const evictions = () =>
      api.asked.filter(({ method, path, body }) =>
        `${method} ${path}` === eviction && (body as NCApp).spec?.nodeName === null
      ).length;
    await waitFor("it has looked around", () => quotaWrites >= 5);
    assert.equal(evictions(), 0);
    showLeases();
    await waitFor("the taint drives the app away", () => evictions() > 0);
  });
});

test("a scheduler of another name has its own election, and logs which permission it lacks", async () => {
  const api = new FakeApi();
  api.intercept = ({ path, body }) => {
    if (!path.endsWith("/selfsubjectaccessreviews")) return undefined;
    const { name } = body.spec.resourceAttributes;
    return { kind: "SelfSubjectAccessReview", status: { allowed: name === undefined } };
  };
  await scheduling(api, async (log) => {
    await waitFor("it leads", () => log.some((line) => line.includes("leading")));
    const leased = api.asked.filter(({ path }) => path.includes("/namespaces/nckubelet/leases/"));
    assert.deepEqual([...new Set(leased.map(({ path }) => path.split("/").at(-1)))], ["nc-scheduler-batch"]);
    const warning = await waitFor(
      "it says so",
      () => log.find((line) => line.includes("--scheduler-name batch")),
    );
    assert.match(warning, /get\/update leases in nckubelet.*nc-scheduler-batch/);
  }, { schedulerName: "batch", leaderElect: true });
});

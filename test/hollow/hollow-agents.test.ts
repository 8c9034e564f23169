import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { apiVersion } from "../../src/api/names.ts";
import {
  accept,
  type Answer,
  endOfList,
  type FakeServer,
  isStream,
  json,
  line,
  ncapp,
  refuse,
  withServer,
} from "../kube/fake-server.ts";
import { waitFor } from "../wait-for.ts";
import { type HollowRun, startHollowAgents } from "./hollow-agents.ts";

const limit = { timeout: 30_000 };
const nodeOf = (query: URLSearchParams) => query.get("fieldSelector")?.split("=")[1] ?? "";

/** Streams to each node its own app, named after the node, and takes every write. */
const answer: Answer = ({ method, path, query, body }, response) => {
  if (isStream({ query })) {
    const node = nodeOf(query);
    const app = ncapp(`app-of-${node}`, node, { uid: `uid-${node}`, generation: 1 });
    return accept(response, line("ADDED", app), endOfList("12"));
  }
  if (path.endsWith("/ncapps")) {
    return json(response, { apiVersion, kind: "NCAppList", metadata: { resourceVersion: "12" }, items: [] });
  }
  if (method === "GET") return refuse(response, 404, "NotFound", path);
  const sent = JSON.parse(body);
  json(response, { ...sent, metadata: { ...sent.metadata, uid: "uid-1", resourceVersion: "20", name: "x" } });
};

/** Runs agents that behave so; `phase` returns the last reported phase of a node's app. */
function withAgents(
  count: number,
  behave: (node: string) => HollowRun,
  use: (scene: { phase: (node: string) => string | undefined; server: FakeServer }) => Promise<void>,
): Promise<void> {
  return withServer(answer, async (server) => {
    await using agents = await startHollowAgents({
      count,
      reach: () => ({ server: server.url }),
      behave: (_, node) => behave(node),
      options: { registerNode: "never" },
    });
    const phase = (node: string) =>
      server.requests.filter(({ path }) => path.endsWith(`/app-of-${node}/status`))
        .map(({ body }) => JSON.parse(body).status.phase).findLast(Boolean);
    assert.equal(agents.nodes.length, count);
    await use({ phase, server });
  });
}

test(
  "hollow agents run the apps of their nodes without a process, and renew their Leases",
  limit,
  async () => {
    await withAgents(3, () => ({}), async ({ phase, server }) => {
      for (const node of ["hollow-0", "hollow-1", "hollow-2"]) {
        await waitFor(`${node} reports`, () => phase(node) === "Running");
      }
      const leases = server.requests.filter(({ method, path }) =>
        method === "POST" && path.endsWith("/leases")
      );
      assert.equal(new Set(leases.map(({ body }) => JSON.parse(body).metadata.name)).size, 3);
    });
  },
);

test("a hollow app fails, never starts or cannot be started, as the test says", limit, async () => {
  const behaviors: Record<string, HollowRun> = {
    "hollow-0": { exit: { code: 3, afterMs: 1 } },
    "hollow-1": { startMs: Infinity },
    "hollow-2": { problem: { reason: "UnknownUser", message: "no user web" } },
  };
  await withAgents(3, (node) => behaviors[node]!, async ({ phase, server }) => {
    await waitFor("the first fails", () => phase("hollow-0") === "BackOff");
    await waitFor("the second hangs", () => phase("hollow-1") === "Starting");
    await waitFor(
      "the third has a problem",
      () => server.requests.some(({ body }) => body.includes("no user web")),
    );
    assert.equal(phase("hollow-1"), "Starting");
  });
});

test("hollow agents leave no folder", limit, async () => {
  const folders: string[] = [];
  await withServer(answer, async (server) => {
    await using agents = await startHollowAgents({
      reach: () => ({ server: server.url }),
      options: { registerNode: "never" },
    });
    folders.push(agents.folder);
    assert.ok(existsSync(agents.folder));
  });
  assert.ok(!folders.some((folder) => existsSync(folder)));
});

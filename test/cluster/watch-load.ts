/** What an agent asks of the API server, and what its watch brings, after nothing but `kubectl apply -f crd/`. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { before, test } from "node:test";
import { agentUser } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import type { Cluster } from "../harness/cluster.ts";
import { createApp } from "../harness/create-app.ts";
import { type RecordedRequest, startRecordingProxy } from "../harness/recording-proxy.ts";
import { startHollowAgents } from "../hollow/hollow-agents.ts";
import { waitFor } from "../wait-for.ts";

const others = 1000;
const node = "node-a";

export function testWatchLoad(shared: () => Cluster): void {
  let cluster: Cluster;
  let admin: KubeClient;

  before(async () => {
    cluster = shared();
    admin = await cluster.clientOf("admin", { maxInFlight: 40 });
  });

  const create = (name: string, nodeName: string) =>
    createApp(admin, name, { shellFile: "/bin/true", nodeName });
  const change = (name: string, text: string) =>
    admin.request({ method: "PATCH", path: ncappPath("default", name), body: { spec: { args: [text] } } });
  const isReported = async (name: string, generation: number) => {
    const { status } = await admin.request<NCApp>({ path: ncappPath("default", name) });
    return status?.phase === "Running" && status.observedGeneration === generation;
  };

  test("its watch brings nothing while 1,000 apps of other nodes change, and it never lists all apps", async (t) => {
    if (!cluster.has("selectable-fields")) {
      return t.skip(`not covered: ${cluster.version.gitVersion} has no selectable fields`);
    }
    const names = Array.from({ length: others }, (_, at) => `other-${at}`);
    await create("own", node);
    await Promise.all(names.map((name) => create(name, "node-b")));
    await using proxy = await startRecordingProxy(cluster, agentUser(node));
    await using _agents = await startHollowAgents({
      nodes: [node],
      reach: () => ({ server: proxy.url }),
    });
    await waitFor("the app runs", () => isReported("own", 1));
    const ofApps = () => proxy.requests.filter(({ path }) => path.endsWith("/ncapps"));
    const watches = () => ofApps().filter(isWatch);
    const bytes = () => Buffer.byteLength(watches().flatMap(eventsOf).join(""));
    // The first measurement is reported a moment after the start; then nothing of the app changes for minutes.
    await waitFor(
      "the usage came back",
      () => watches().some(({ body }) => body.includes('"cpuPCT":"0.0"')),
    );

    const before = bytes();
    await Promise.all(names.map((name) => change(name, "changed")));
    const during = bytes() - before;
    // What the watch brings, it brings in order: after a change of the app itself, nothing earlier is still under way.
    await change("own", "changed");
    await waitFor("the change is reported", () => isReported("own", 2));

    for (const { method, path, query, status } of ofApps()) {
      t.diagnostic(`${status} ${method} ${path}?${query}`);
    }
    t.diagnostic(`watch bytes while ${others} apps of another node changed: ${during}`);
    assert.equal(during, 0);
    const foreign = watches().flatMap(eventsOf).filter((line) => !line.includes('"name":"own"'));
    assert.deepEqual(foreign, []);
    assert.equal(ofApps().filter(({ query }) => !selectsNode(query)).length, 0);
    const answered = ofApps().filter(({ status }) => status === 200);
    assert.ok(
      answered.filter((request) => !isWatch(request)).every(({ body }) => !body.includes("other-")),
    );
  });
}

function isWatch({ query }: RecordedRequest): boolean {
  return query.get("watch") === "true";
}

function selectsNode(query: URLSearchParams): boolean {
  return /^(spec|status)\.nodeName=node-a$/.test(query.get("fieldSelector") ?? "");
}

/**
 * The events of apps that a watch has brought, as far as they are complete: bookmarks come once a minute, whatever happens, and a busy
 * server answers a watch with a Status.
 */
function eventsOf({ status, body }: RecordedRequest): string[] {
  if (status !== 200) return [];
  return body.split(/(?<=\n)/).filter((line) =>
    line.endsWith("\n") && !/^\{"type":"(BOOKMARK|ERROR)"/.test(line)
  );
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { createFollowers, createHub } from "../../src/kube/follower.ts";
import { ncapps, roleBindings, roles } from "../../src/kube/resources.ts";
import { createLogger, silentLogger } from "../../src/lib/log.ts";
import { contentOf, grantName, grantObjects } from "../../src/identities/grant-objects.ts";
import { createGrants } from "../../src/identities/write-grants.ts";
import { type Asked, FakeApi } from "../kube/fake-api.ts";
import { withClient } from "../kube/fake-server.ts";
import { waitFor } from "../wait-for.ts";

const base = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const pathOf = (plural: string, node: string) => `${base}/${plural}/${grantName(node)}`;
const apps = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps";
const isWrite = ({ method, path }: Asked) => method !== "GET" && path.startsWith(base);

function addApp(api: FakeApi, name: string, nodeName: string, ...secrets: string[]) {
  const env = secrets.map((name) => ({ name: "X", valueFrom: { secretKeyRef: { name, key: "k" } } }));
  api.add(ncapps, {
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCApp",
    metadata: { name, namespace: "default" },
    spec: { shellFile: "/a", nodeName, env },
  } as object);
}

function addGrant(api: FakeApi, node: string, ...secrets: string[]) {
  const { role, binding } = grantObjects("default", node, { secrets, configMaps: [] });
  api.add(roles, role);
  api.add(roleBindings, binding);
}

/** The Secrets that an agent may read; undefined without a Role or a RoleBinding. */
function readable(api: FakeApi, node: string): string[] | undefined {
  const [role, binding] = [api.get(pathOf("roles", node)), api.get(pathOf("rolebindings", node))];
  return binding && role?.rules[0]?.resourceNames;
}

/** Runs a leading writer on the objects of `api` during `use`. */
async function withWriter(
  api: FakeApi,
  use: () => Promise<void>,
  { mayGrant = (): boolean => true, log = silentLogger } = {},
) {
  const { intercept } = api;
  api.intercept = (request) =>
    request.path.endsWith("/selfsubjectaccessreviews")
      ? { status: { allowed: mayGrant() } }
      : intercept(request);
  await withClient(api.answer, async (client) => {
    const followers = createFollowers(createHub(client, silentLogger));
    const lead = createGrants({ client, log, followers, lookMs: 10 });
    const stopping = new AbortController();
    const { signal } = stopping;
    const following = followers.run(signal);
    await waitFor("all lists", () => followers.ready);
    const leading = lead({ signal, isLeader: () => !signal.aborted });
    try {
      await use();
    } finally {
      stopping.abort();
      await Promise.all([following, leading]);
      api.intercept = intercept;
    }
  });
}

/** edge-1 has lost an app and got another, edge-2 has its first one, and edge-3 lost its last. */
function scene(): FakeApi {
  const api = new FakeApi();
  addApp(api, "kept", "edge-1", "a");
  addApp(api, "new", "edge-1", "b");
  addApp(api, "first", "edge-2", "c");
  addGrant(api, "edge-1", "a", "left");
  addGrant(api, "edge-3", "a");
  return api;
}

const isEnd = (api: FakeApi) =>
  JSON.stringify(["edge-1", "edge-2", "edge-3"].map((node) => readable(api, node) ?? null)) ===
    JSON.stringify([["a", "b"], ["c"], null]) && !api.get(pathOf("roles", "edge-3"));

test("apps get their Secrets, the Role before the RoleBinding, and lose them when they leave", async () => {
  const api = scene();
  await withWriter(api, () => waitFor("all are written", () => isEnd(api)).then(() => {}));
  const writes = api.asked.filter(isWrite).map(({ method, path }) =>
    `${method} ${path.split("/").slice(6).join("/")}`
  );
  const at = (write: string) => writes.findIndex((text) => text.startsWith(write));
  const [one, two, three] = [grantName("edge-1"), grantName("edge-2"), grantName("edge-3")];
  assert.ok(at("POST roles") >= 0 && at("POST roles") < at("POST rolebindings"), writes.join());
  assert.ok(at(`DELETE rolebindings/${three}`) < at(`DELETE roles/${three}`), writes.join());
  assert.deepEqual([writes.length, at(`PATCH roles/${one}`) >= 0, writes.join().includes(two)], [
    5,
    true,
    false,
  ]);
});

test("a writer that is killed at any write takes no right from an app, and the next one completes it", async () => {
  for (let survived = 0; survived <= 5; survived++) {
    const api = scene();
    let writes = 0;
    const lost: string[] = [];
    // Each write arrives, and at the last one the process dies: what it sends after that does not arrive.
    api.intercept = (request) => {
      if (!readable(api, "edge-1")?.includes("a")) lost.push(`before write ${writes}`);
      return isWrite(request) && writes++ >= survived ? 0 : undefined;
    };
    await withWriter(api, async () => {
      await waitFor("the kill", () => survived === 5 ? isEnd(api) : writes > survived);
    });
    assert.deepEqual(lost, []);
    api.intercept = () => undefined;
    await withWriter(api, () => waitFor("all are written", () => isEnd(api)).then(() => {}));
  }
});

test("a controller whose watch lags behind takes no right that an app needs", async () => {
  const api = scene();
  // It sees edge-1 without the app that its predecessor has served.
  addApp(api, "unseen", "edge-1", "left");
  const unseen = api.get(`${apps}/unseen`);
  api.objects.delete(`${apps}/unseen`);
  await withWriter(api, async () => {
    await waitFor("all are written", () => readable(api, "edge-1")?.includes("b"));
  }, {
    mayGrant() {
      api.objects.set(`${apps}/unseen`, unseen);
      return true;
    },
  });
  assert.deepEqual(readable(api, "edge-1"), ["a", "b", "left"]);
});

test("what an administrator of the namespace changed is replaced, also a binding to another role", async () => {
  const api = scene();
  const role = api.get(pathOf("roles", "edge-1"));
  api.put(pathOf("roles", "edge-1"), {
    ...role,
    metadata: { ...role.metadata, labels: {} },
    rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
  });
  const binding = api.get(pathOf("rolebindings", "edge-1"));
  api.put(pathOf("rolebindings", "edge-1"), {
    ...binding,
    roleRef: { ...binding.roleRef, kind: "ClusterRole", name: "edit" },
    subjects: [],
  });
  await withWriter(api, () => waitFor("all are written", () => isEnd(api)).then(() => {}));
  const right = grantObjects("default", "edge-1", { secrets: ["a", "b"], configMaps: [] });
  assert.equal(contentOf(api.get(pathOf("roles", "edge-1"))), contentOf(right.role));
  assert.equal(contentOf(api.get(pathOf("rolebindings", "edge-1"))), contentOf(right.binding));
});

test("a webhook that changes what is written gets it again after growing waits, not at once", async () => {
  const api = new FakeApi();
  addApp(api, "first", "edge-2", "c");
  const lines: string[] = [];
  api.intercept = ({ method, path, body }) => {
    if (method === "GET" || !path.startsWith(`${base}/roles`)) return undefined;
    return api.put(pathOf("roles", "edge-2"), { ...api.get(pathOf("roles", "edge-2")), ...body, rules: [] });
  };
  await withWriter(
    api,
    () => waitFor("two tries", () => api.asked.filter(isWrite).length >= 2).then(() => {}),
    {
      log: createLogger({ level: "warn", format: "text", write: (line) => void lines.push(line) }),
    },
  );
  assert.match(lines[0] ?? "", /something in the API server changed the Role default\/nckubelet-node-/);
});

test("without the right to write Roles it says so once, writes nothing, and begins when it has the right", async () => {
  const api = scene();
  const lines: string[] = [];
  let asked = 0;
  let allowed = false;
  await withWriter(api, async () => {
    await waitFor("three questions", () => asked >= 3);
    assert.deepEqual(api.asked.filter(isWrite), []);
    allowed = true;
    await waitFor("all are written", () => isEnd(api));
  }, {
    mayGrant: () => (asked++, allowed),
    log: createLogger({ level: "warn", format: "text", write: (line) => void lines.push(line) }),
  });
  assert.equal(lines.filter((line) => line.includes("may not write Roles")).length, 1);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { certificateUser } from "../../../src/server/kubelet/access.ts";
import { kubeletRoutes } from "../../../src/server/kubelet/routes.ts";
import { apiServer, certified, kubeletWith, people } from "./fake-kubelet.ts";

/** What each path needs, written down a second time: a route that is not here as well fails the first test. */
const expected: Record<string, string> = {
  "GET /healthz": "get healthz or get proxy",
  "GET /pods": "get pods or get proxy",
  "GET /runningpods": "get pods or get proxy",
  "GET /stats/summary": "get stats",
  "GET /metrics/resource": "get metrics",
  "GET /containerLogs/:namespace/:pod/:container": "get proxy",
  "POST /exec/:namespace/:pod/:container": "create proxy",
  "POST /attach/:namespace/:pod/:container": "create proxy",
  "POST /portForward/:namespace/:pod": "create proxy",
  "POST /run/:namespace/:pod/:container": "create proxy",
};
const verbs: Record<string, string> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

test("the table of the kubelet API is the one that was agreed on", () => {
  const found = kubeletRoutes.map(({ method, path, subresources }) => [
    `${method} ${path}`,
    subresources.map((subresource) => `${verbs[method]} ${subresource}`).join(" or "),
  ]);
  assert.deepEqual(Object.fromEntries(found), expected);
});

/** Every sender, with the rights that RBAC gives it: undefined for who is not known at all. */
const senders: Record<string, { token?: string; env?: object; rights: "everything" | string[] | undefined }> =
  {
    "the API server's certificate": {
      env: certified({ CN: apiServer.username, O: "system:masters" }),
      rights: "everything",
    },
    "a certificate of another authority": {
      env: certified({ CN: apiServer.username, O: "system:masters" }, false),
      rights: undefined,
    },
    "a certificate without a name": { env: certified({ O: "system:masters" }), rights: undefined },
    "another node's agent by certificate": {
      env: certified({ CN: "nckubelet:node-b", O: "nckubelet:agents" }),
      rights: [],
    },
    "a viewer by certificate": { env: certified({ CN: "viewer", O: ["viewers", "others"] }), rights: [] },
    "nothing": { rights: undefined },
    "an unknown token": { token: "who-is-this", rights: undefined },
    ...Object.fromEntries(
      Object.entries(people).map(([token, { rights }]) => [`the token of ${token}`, { token, rights }]),
    ),
  };

test("every path × method × sender is allowed, 401 or 403 as the table says", async () => {
  const kubelet = kubeletWith();
  const paths = [...new Set(kubeletRoutes.map(({ path }) => path)), "/nowhere", "/logs/", "/configz", "/"];
  for (const path of paths) {
    const row = Object.entries(expected).find(([name]) => name.split(" ")[1] === path);
    const subresources = row ? row[1].split(" or ").map((right) => right.split(" ")[1]) : ["proxy"];
    const url = path.replace(":namespace", "default").replace(":pod", "web").replace(":container", "app");
    for (const [method, verb] of Object.entries(verbs)) {
      for (const [name, { token, env, rights }] of Object.entries(senders)) {
        const answer = await kubelet.ask(url, { method, token, env });
        const isAllowed = rights === "everything" ||
          subresources.some((subresource) => rights?.includes(`${verb} ${subresource}`));
        const outcome = answer.status === 401 ? "401" : answer.status === 403 ? "403" : "allowed";
        const wanted = rights === undefined ? "401" : isAllowed ? "allowed" : "403";
        assert.equal(outcome, wanted, `${method} ${path} from ${name}: ${answer.status}`);
        await answer.body?.cancel();
      }
    }
  }
});

test("who may use the node, but with another method or path, gets 405 or 404", async () => {
  const { asApiServer } = kubeletWith();
  assert.equal((await asApiServer("/exec/default/web/app")).status, 405);
  assert.equal((await asApiServer("/pods", "POST")).headers.get("allow"), "GET, HEAD");
  assert.equal((await asApiServer("/nowhere")).status, 404);
  assert.equal((await asApiServer("/pods/")).status, 404);
});

test("a method that RBAC has no verb for is refused, whoever sends it", async () => {
  assert.equal((await kubeletWith().asApiServer("/pods", "OPTIONS")).status, 405);
  assert.equal((await kubeletWith().ask("/pods", { method: "OPTIONS" })).status, 401);
});

test("while the API server cannot be asked, nothing is allowed and clients are asked to retry", async () => {
  const late = await kubeletWith().ask("/pods", { token: "late" });
  assert.deepEqual([late.status, late.headers.get("retry-after")], [503, "5"]);
  const unsure = kubeletWith({ authorize: async () => "unavailable" });
  assert.equal((await unsure.asApiServer("/exec/default/web/app", "POST")).status, 503);
});

test("a certificate counts before a token, and an invalid one does not hide the token", async () => {
  const kubelet = kubeletWith();
  const invalid = certified({ CN: "x" }, false);
  assert.equal((await kubelet.ask("/metrics/resource", { token: "metrics", env: invalid })).status, 200);
  const valid = certified({ CN: "viewer" });
  assert.equal((await kubelet.ask("/metrics/resource", { token: "metrics", env: valid })).status, 403);
});

test("the user of a certificate is its name, and its organizations are the groups", () => {
  const of = (subject: Record<string, string | string[]>) =>
    certificateUser(certified(subject).incoming.socket);
  assert.deepEqual(of({ CN: "a", O: ["x", "y"] }), {
    username: "a",
    groups: ["x", "y", "system:authenticated"],
  });
  assert.deepEqual(of({ CN: "a", O: "x" }), { username: "a", groups: ["x", "system:authenticated"] });
  assert.deepEqual(of({ CN: "a" }), { username: "a", groups: ["system:authenticated"] });
  assert.equal(of({ CN: ["a", "b"], O: "x" }), undefined);
  assert.equal(of({}), undefined);
});

test("a certificate that expires on an open connection does not count any more", () => {
  const { socket } = certified({ CN: "a" }).incoming;
  const end = Date.parse("2100-01-01T00:00:00Z");
  assert.equal(certificateUser(socket, end - 1)?.username, "a");
  assert.equal(certificateUser(socket, end), undefined);
});

test("an error says which right is missing, and never which paths there are to who has none", async () => {
  const kubelet = kubeletWith();
  const denied = await kubelet.ask("/exec/default/web/app", { method: "POST", token: "reader" });
  assert.equal(
    (await denied.json() as { message: string }).message,
    'user "reader" may not create nodes/proxy',
  );
  assert.equal((await kubelet.ask("/no/such/path", { token: "viewer" })).status, 403);
});

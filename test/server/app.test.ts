import assert from "node:assert/strict";
import { test } from "node:test";
import { hiddenValue } from "../../src/api/shown-spec.ts";
import { createServerApp } from "../../src/server/app.ts";
import { ownTurn } from "../../src/server/turns.ts";
import type { Logger } from "../../src/lib/log.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { manifest } from "../builders.ts";
import { listeners, recordActions, serverWith, servicesWith, viewWith } from "./fake-agent.ts";

interface Status {
  kind: string;
  code: number;
  reason: string;
  message: string;
  details?: { name?: string; causes?: { field: string; reason: string; message: string }[] };
}

async function refusal(answer: Response | Promise<Response>): Promise<Status> {
  const response = await answer;
  const status = await response.json() as Status;
  assert.equal(status.kind, "Status");
  assert.equal(status.code, response.status);
  return status;
}

const web = (fields: object = {}) => ({ ...manifest("web", { shellFile: "/opt/web.sh" }), ...fields });
const put = (body: unknown, headers: Record<string, string> = {}) => ({
  method: "PUT",
  headers: { "content-type": "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

test("GET /healthz and /livez say ok", async () => {
  for (const path of ["/healthz", "/livez"]) {
    assert.equal(await (await serverWith().request(path)).text(), "ok");
  }
});

test("GET /readyz names each check when one fails, and when it is asked to", async () => {
  assert.equal(await (await serverWith().request("/readyz")).text(), "ok");
  assert.match(
    await (await serverWith().request("/readyz?verbose")).text(),
    /^\[\+\]sync ok: 1 s ago\nreadyz check passed\n$/,
  );
  const checks = () => [{ name: "source-api-server", ok: false, message: "503" }];
  const answer = await serverWith({ view: viewWith({ checks }) }).request("/readyz");
  assert.equal(answer.status, 503);
  assert.match(await answer.text(), /\[-\]source-api-server failed: 503/);
});

test("GET /apps lists NCApps with their status and without the values of their environment", async () => {
  const text = await (await serverWith().request("/apps")).text();
  const list = JSON.parse(text);
  assert.equal(list.kind, "NCAppList");
  assert.equal(list.items[0].status.phase, "Running");
  assert.deepEqual(list.items[0].spec.env, [{ name: "PASSWORD", value: hiddenValue }, {
    name: "NODE",
    valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } },
  }]);
  assert.ok(!text.includes("hunter2"));
});

test("GET /status shows version, node, limits and sources", async () => {
  const view = viewWith({ limits: { enforced: false, strict: true, message: "no cgroup v2" } });
  const status = await (await serverWith({ view }).request("/status")).json() as Record<string, unknown>;
  assert.deepEqual([status.version, status.node, status.limits], ["1.2.3", "node-a", {
    enforced: false,
    strict: true,
    message: "no cgroup v2",
  }]);
});

test("an unknown app and an unknown path are 404 as Status", async () => {
  for (const path of ["/apps/default/nobody", "/nowhere", "/apps/"]) {
    const { code, reason } = await refusal(serverWith().request(path));
    assert.deepEqual([code, reason], [404, "NotFound"], path);
  }
});

test("another method is 405 and names those that there are", async () => {
  const answer = await serverWith().request("/apps/default/web", { method: "PATCH" });
  assert.equal(answer.headers.get("allow"), "GET, HEAD, PUT, DELETE");
  assert.equal((await refusal(answer)).reason, "MethodNotAllowed");
});

test("without a token TLS answers 401 and says which kind is wanted", async () => {
  const answer = await createServerApp(listeners.tls, servicesWith()).request("/apps");
  assert.equal(answer.headers.get("www-authenticate"), 'Bearer realm="nckubelet"');
  assert.equal((await refusal(answer)).reason, "Unauthorized");
});

test("an unexpected error is 500, and its text is in the log only", async () => {
  const lines: unknown[] = [];
  const log: Logger = { ...silentLogger, error: (message, fields) => void lines.push([message, fields]) };
  const apps = () => {
    throw new Error("/var/lib/secret is broken");
  };
  const { code, message } = await refusal(serverWith({ log, view: viewWith({ apps }) }).request("/apps"));
  assert.equal(code, 500);
  assert.ok(!message.includes("secret"));
  assert.match(JSON.stringify(lines), /\/var\/lib\/secret is broken/);
});

test("every answer forbids scripts, frames, sniffing and caching", async () => {
  for (const path of ["/apps", "/nowhere", "/healthz"]) {
    const { headers } = await serverWith().request(path);
    assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/);
    assert.match(headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("cache-control"), "no-store");
  }
});

test("PUT keeps a valid app under the name in its path", async () => {
  const actions = recordActions();
  const body = web({
    metadata: { name: "web", namespace: null, creationTimestamp: null },
    status: { phase: "Running" },
  });
  const answer = await serverWith({ actions }).request("/apps/default/web", put(body));
  assert.equal(answer.status, 201);
  assert.equal((await answer.json() as { metadata: { name: string } }).metadata.name, "web");
  assert.deepEqual(actions.asked, ["put default/web"]);
});

test("PUT of an invalid app is 422 with every field that is wrong, and changes nothing", async () => {
  const actions = recordActions();
  const body = web({ spec: { shellFile: "relative.sh", cpuPCT: 200, colour: "red" } });
  const { reason, details } = await refusal(serverWith({ actions }).request("/apps/default/web", put(body)));
  assert.equal(reason, "Invalid");
  assert.deepEqual(details?.causes?.map(({ field }) => field).sort(), [
    "spec.colour",
    "spec.cpuPCT",
    "spec.shellFile",
  ]);
  assert.deepEqual(actions.asked, []);
});

test("PUT of a mirror, or of what the agent shows of an app, is 422 and changes nothing", async () => {
  const actions = recordActions();
  const body = web({
    metadata: { name: "web", annotations: { "app.example.com/config.mirror": "node-a/0" } },
    spec: { env: [{ name: "PASSWORD", value: hiddenValue }] },
  });
  const { code, details } = await refusal(serverWith({ actions }).request("/apps/default/web", put(body)));
  assert.equal(code, 422);
  assert.deepEqual(details?.causes?.map(({ field }) => field), [
    "metadata.annotations[app.example.com/config.mirror]",
    "spec.env[0].value",
  ]);
  assert.deepEqual(actions.asked, []);
});

test("PUT under another name than the body's is 400 with both", async () => {
  for (const metadata of [{ name: "other" }, { name: "web", namespace: "other" }]) {
    const { code, message } = await refusal(
      serverWith().request("/apps/default/web", put(web({ metadata }))),
    );
    assert.equal(code, 400);
    assert.match(message, /"other"/);
  }
});

test("a body that is no JSON, of another kind, or too long is 400, 415 and 413", async () => {
  const request = async (init: RequestInit) =>
    (await refusal(serverWith().request("/apps/default/web", init))).code;
  assert.equal(await request(put("{ not json")), 400);
  assert.equal(await request(put("a: b", { "content-type": "application/yaml" })), 415);
  assert.equal(await request({ method: "PUT" }), 415);
  assert.equal(await request(put("[]", { "content-length": "100000000" })), 413);
  assert.equal(await request(put(" ".repeat(1 << 20) + "{}")), 413);
  assert.equal(await request(put("[]")), 422);
  assert.equal(await request(put("null")), 422);
});

test("an action that is refused is answered with its code and message", async () => {
  const actions = {
    ...recordActions(),
    restart: async () => ({ done: false, code: 409, message: "comes from manifests" } as const),
  };
  const answer = serverWith({ actions }).request("/apps/default/web/restart", { method: "POST" });
  const { code, reason, message } = await refusal(answer);
  assert.deepEqual([code, reason, message], [409, "Conflict", "comes from manifests"]);
});

test("stop, start, restart, trigger, undo and DELETE reach the app of the path", async () => {
  const actions = recordActions();
  const app = serverWith({ actions });
  for (const verb of ["stop", "start", "restart", "trigger", "undo"]) {
    assert.equal((await app.request(`/apps/default/web/${verb}`, { method: "POST" })).status, 200);
  }
  assert.equal((await app.request("/apps/default/web", { method: "DELETE" })).status, 200);
  assert.deepEqual(actions.asked, [
    "stop default/web",
    "start default/web",
    "restart default/web",
    "trigger default/web",
    "undo default/web",
    "remove default/web",
  ]);
});

test("ownTurn() gives each of several callers a turn of the event loop of its own, in the order of the calls", async () => {
  const notes: string[] = [];
  let turns = 0;
  const count = () => {
    notes.push(`turn ${++turns}`);
    if (notes.filter((note) => note.startsWith("work")).length < 3) setImmediate(count);
  };
  const works = ["a", "b", "c"].map((name) => ownTurn().then(() => notes.push(`work ${name}`)));
  setImmediate(count);
  await Promise.all(works);
  const together = notes.join(", ").split(/turn \d+/).filter((between) => between.split("work").length > 2);
  assert.deepEqual(together, [], notes.join(", "));
  assert.deepEqual(notes.filter((note) => note.startsWith("work")), ["work a", "work b", "work c"]);
});

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { silentLogger } from "../../src/lib/log.ts";
import { type AuthorizePath, createControllerApp, createHealthApp } from "../../src/controller/serve.ts";
import { createCredentialTimes } from "../../src/server/credential-times.ts";
import { server as pair } from "../kube/access/certificates.ts";
import { testController } from "./test-controller.ts";

const follower = (name: string, alive = true) => ({
  name,
  listed: true,
  alive,
  message: alive ? "watching" : "401 Unauthorized",
});

function createApp(
  { alive = true, ports = new Map(), authorize }: {
    alive?: boolean;
    ports?: Map<string, string>;
    authorize?: AuthorizePath;
  } = {},
) {
  const scheduler = testController("scheduler", {
    followers: () => [follower("ncapps", alive)],
    metrics: async () => "first 1\n",
    status: () => ({ queues: { parked: 3 } }),
  });
  const credentials = createCredentialTimes();
  credentials.note("listen-certificate", pair.cert);
  const view = { version: "1.2.3", identity: "me", startedAt: new Date(0), ports, credentials };
  const controllers = [scheduler];
  return createControllerApp({ ...view, controllers, isLeading: () => true, log: silentLogger }, authorize);
}

test("with a check of tokens, only /healthz and /livez are open, and every other path asks for itself", async () => {
  const asked: string[] = [];
  const app = createApp({
    authorize: async (token, path) => {
      asked.push(path);
      if (token === "down") return "unavailable";
      return token === "monitor" ? path === "/metrics" ? "allowed" : "forbidden" : "unknown";
    },
  });
  const get = async (path: string, token?: string) => {
    const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
    return (await app.request(path, { headers })).status;
  };
  const paths = ["/healthz", "/livez", "/readyz", "/metrics", "/status", "/nowhere"];
  const all = (token?: string) => Promise.all(paths.map((path) => get(path, token)));
  assert.deepEqual(await all(), [200, 200, 401, 401, 401, 404]);
  assert.deepEqual(asked, []);
  assert.deepEqual(await all("stranger"), [200, 200, 401, 401, 401, 404]);
  assert.deepEqual(await all("monitor"), [200, 200, 403, 200, 403, 404]);
  assert.equal(await get("/metrics", "down"), 503);
  const refused = await app.request("/status", { headers: { authorization: "Bearer monitor" } });
  assert.match((await refused.json()).message, /^the token may not get \/status$/);
});

test("the metrics say when a credential expires", async () => {
  const text = await (await createApp().request("/metrics")).text();
  const [, seconds] =
    /^nckubelet_credential_expiration_timestamp_seconds\{credential="listen-certificate"\} (\d+)$/m.exec(
      text,
    ) ??
      [];
  assert.equal(Number(seconds), Date.parse(new X509Certificate(pair.cert).validTo) / 1000, text);
});

test("/healthz and /livez do not depend on the API server, /readyz reports what is missing", async () => {
  const app = createApp({ alive: false });
  for (const path of ["/healthz", "/livez"]) assert.equal((await app.request(path)).status, 200);
  const unready = await app.request("/readyz");
  assert.equal(unready.status, 503);
  assert.match(await unready.text(), /^\[-\]ncapps failed: 401 Unauthorized$/m);
  const ready = await createApp().request("/readyz?verbose");
  assert.equal(ready.status, 200);
  assert.match(await ready.text(), /^\[\+\]ncapps ok: watching$/m);
});

test("a port that is not open fails /readyz and is in /status", async () => {
  const why = "--health-listen :80: EACCES: this user may not use the port";
  const app = createApp({ ports: new Map([[":80", why]]) });
  assert.match(
    await (await app.request("/readyz")).text(),
    new RegExp(`^\\[-\\]listen failed: ${why}$`, "m"),
  );
  assert.deepEqual((await (await app.request("/status")).json()).closedPorts, [why]);
});

test("the health endpoint reports whether all is well, without details", async () => {
  const [well, unwell] = [createApp(), createApp({ alive: false })].map((app) => createHealthApp(app));
  for (const path of ["/healthz", "/livez", "/readyz", "/readyz?verbose"]) {
    const answer = await well!.request(path);
    assert.deepEqual([answer.status, await answer.text()], [200, "ok"], path);
  }
  const unready = await unwell!.request("/readyz?verbose");
  assert.deepEqual([unready.status, await unready.text()], [503, "not ready"]);
  assert.equal((await unwell!.request("/livez")).status, 200);
  for (const path of ["/metrics", "/status", "/"]) {
    assert.equal((await well!.request(path)).status, 404, path);
  }
});

test("/status is JSON, and an unknown path is answered with a Status", async () => {
  const app = createApp();
  const status = await (await app.request("/status")).json();
  assert.deepEqual([status.identity, status.leading, status.queues.parked], ["me", true, 3]);
  assert.deepEqual(status.controllers, ["scheduler"]);
  const missing = await app.request("/nowhere");
  assert.deepEqual([missing.status, (await missing.json()).kind], [404, "Status"]);
});

test("several controllers share one endpoint, and one that is not ready makes all unready", async () => {
  const app = createControllerApp({
    log: silentLogger,
    version: "1.2.3",
    identity: "me",
    startedAt: new Date(0),
    isLeading: () => false,
    controllers: [
      testController("scheduler", {
        followers: () => [follower("ncapps")],
        metrics: async () => "first 1\n",
      }),
      testController("sets", {
        followers: () => [follower("ncapps", false)],
        metrics: async () => "second 2\n",
        status: () => ({ sets: 4 }),
      }),
    ],
  });
  const unready = await app.request("/readyz");
  assert.equal(unready.status, 503);
  assert.match(
    await unready.text(),
    /^\[\+\]scheduler\/ncapps ok: watching\n\[-\]sets\/ncapps failed: 401 Unauthorized$/m,
  );
  const metrics = await (await app.request("/metrics")).text();
  assert.match(metrics, /^first 1$/m);
  assert.match(metrics, /^second 2$/m);
  const status = await (await app.request("/status")).json();
  assert.deepEqual([status.controllers, status.sets, status.leading], [["scheduler", "sets"], 4, false]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createServerApp } from "../../src/server/app.ts";
import type { AgentView, AppView } from "../../src/server/view.ts";
import { appWith } from "../supervisor/fixtures.ts";

const web: AppView = {
  app: appWith({
    env: [{ name: "PASSWORD", value: "hunter2" }, {
      name: "NODE",
      valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } },
    }],
  }),
  source: "manifests",
  status: { phase: "Running", ready: true },
  logFile: "/var/log/nckubelet/default_web/app.log",
};

function serverWith(fields: Partial<AgentView> = {}) {
  return createServerApp({
    version: "1.2.3",
    node: "node-a",
    startedAt: new Date(0),
    limits: { enforced: true, message: "" },
    sources: () => [],
    problems: () => [],
    apps: () => [web],
    app: (namespace, name) => namespace === "default" && name === "web" ? web : undefined,
    checks: () => [{ name: "sync", ok: true, message: "1 s ago" }],
    ...fields,
  });
}

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
  const failing = serverWith({ checks: () => [{ name: "source-api-server", ok: false, message: "503" }] });
  const answer = await failing.request("/readyz");
  assert.equal(answer.status, 503);
  assert.match(await answer.text(), /\[-\]source-api-server failed: 503/);
});

test("GET /apps lists NCApps with their status and without the values of their environment", async () => {
  const text = await (await serverWith().request("/apps")).text();
  const list = JSON.parse(text);
  assert.equal(list.kind, "NCAppList");
  assert.equal(list.items[0].status.phase, "Running");
  assert.deepEqual(list.items[0].spec.env, [{ name: "PASSWORD" }, {
    name: "NODE",
    valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } },
  }]);
  assert.ok(!text.includes("hunter2"));
});

test("an unknown app and an unknown path are 404 as Status", async () => {
  for (const path of ["/apps/default/nobody", "/nowhere"]) {
    const answer = await serverWith().request(path);
    const { kind, code, reason } = await answer.json() as { kind: string; code: number; reason: string };
    assert.deepEqual([answer.status, kind, code, reason], [404, "Status", 404, "NotFound"]);
  }
});

test("GET /status tells version, node, limits and sources", async () => {
  const status =
    await (await serverWith({ limits: { enforced: false, message: "no cgroup v2" } }).request("/status"))
      .json() as Record<string, unknown>;
  assert.deepEqual([status.version, status.node, status.limits], ["1.2.3", "node-a", {
    enforced: false,
    message: "no cgroup v2",
  }]);
});

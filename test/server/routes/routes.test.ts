import assert from "node:assert/strict";
import { test } from "node:test";
import { createServerApp } from "../../../src/server/app.ts";
import { type Access, routes } from "../../../src/server/routes/routes.ts";
import { listeners, servicesWith } from "../fake-agent.ts";

/** What may be asked, and by whom. A route that is not written here as well fails the first test. */
const expected: Record<string, Access> = {
  "GET /": "anyone",
  "GET /dashboard.js": "anyone",
  "GET /dashboard.css": "anyone",
  "GET /healthz": "anyone",
  "GET /livez": "anyone",
  "GET /readyz": "local",
  "GET /status": "reader",
  "GET /apps": "reader",
  "GET /apps/:namespace/:name": "reader",
  "GET /apps/:namespace/:name/logs": "reader",
  "GET /metrics": "local",
  "GET /stats/summary": "local",
  "GET /history": "reader",
  "GET /dashboard-url": "socket",
  "PUT /apps/:namespace/:name": "socket",
  "DELETE /apps/:namespace/:name": "socket",
  "GET /apps/:namespace/:name/history": "reader",
  "GET /events": "reader",
  "POST /apps/:namespace/:name/restart": "socket",
  "POST /apps/:namespace/:name/reload": "socket",
  "POST /apps/:namespace/:name/trigger": "socket",
  "POST /apps/:namespace/:name/undo": "socket",
  "POST /apps/:namespace/:name/stop": "socket",
  "POST /apps/:namespace/:name/start": "socket",
};

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const credentials = {
  none: undefined,
  unknown: "Bearer stranger",
  weak: "Bearer weak",
  good: "Bearer good",
  late: "Bearer late",
  basic: "Basic Z29vZDpnb29k",
};
type Credential = keyof typeof credentials;

test("the table of routes is the one that was agreed on", () => {
  const found = Object.fromEntries(routes.map(({ method, path, access }) => [`${method} ${path}`, access]));
  assert.deepEqual(found, expected);
});

test("every route × method × listener × credential is answered as its row says", async () => {
  const paths = [...new Set(routes.map(({ path }) => path))];
  for (const [listenerName, listener] of Object.entries(listeners)) {
    const app = createServerApp(listener, servicesWith());
    for (const path of paths) {
      for (const method of methods) {
        for (const [credential, authorization] of Object.entries(credentials)) {
          const answer = await app.request(path.replace(":namespace", "default").replace(":name", "web"), {
            method,
            headers: { host: "localhost", ...(authorization && { authorization }) },
          });
          const outcome = classify(answer.status);
          const wanted = decide(path, method, listenerName, credential as Credential);
          assert.equal(outcome, wanted, `${method} ${path} through ${listenerName} with ${credential}`);
          await answer.body?.cancel();
        }
      }
    }
  }
});

test("a page that was made to point at loopback gets nothing, whatever it asks for", async () => {
  const app = createServerApp(listeners.loopback, servicesWith());
  for (const { path } of routes) {
    const answer = await app.request(path, { headers: { host: "evil.example" } });
    assert.equal(answer.status, 403, path);
  }
});

function decide(path: string, method: string, listener: string, credential: Credential): string {
  const served = method === "HEAD" ? "GET" : method;
  const access = expected[`${served} ${path}`];
  if (!access) return "no such method";
  if (access === "anyone" || listener === "socket") return "served";
  if (access === "socket") return "forbidden";
  if (listener === "open loopback" || (listener === "loopback" && access === "local")) return "served";
  return ({ good: "served", weak: "forbidden", late: "unavailable" } as Record<string, string>)[credential] ??
    "who are you";
}

function classify(status: number): string {
  return ({
    401: "who are you",
    403: "forbidden",
    405: "no such method",
    500: "broken",
    503: "unavailable",
  } as Record<
    number,
    string
  >)[status] ?? "served";
}

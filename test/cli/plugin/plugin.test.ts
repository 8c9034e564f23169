import assert from "node:assert/strict";
import { test } from "node:test";
import type { Io } from "../../../src/cli/command.ts";
import { type FakeServer, json, refuse, withServer } from "../../kube/fake-server.ts";
import { callPlugin } from "./call-plugin.ts";
import { ncapp } from "../../builders.ts";
import type { NCApp } from "../../../src/api/types.ts";

const app = (name: string, node: string, annotations = {}) =>
  ncapp({
    metadata: { name, namespace: "shop", resourceVersion: "7", annotations },
    spec: { shellFile: "/srv/web.sh", nodeName: node, cpuPCT: "20" },
    status: { phase: "Running", ready: true, cpuPCT: "3.0", memPCT: "1.0" },
  });
const apps: NCApp[] = [
  app("web", "edge-7"),
  {
    ...app("local", "edge-8", {
      "app.example.com/config.mirror": "edge-8/0123456789abcdef",
      "app.example.com/config.mirror-of": "local",
    }),
    status: { phase: "Running", cpuPCT: "9.0" },
  },
];

/** A page of a list; small ones, so that there are several. */
function pageOf(all: typeof apps, query: URLSearchParams) {
  const from = Number(query.get("continue") ?? 0);
  const next = from + (query.has("limit") ? 1 : all.length);
  return {
    apiVersion: "app.example.com/v1alpha1",
    kind: "NCAppList",
    metadata: { resourceVersion: "9", ...(next < all.length ? { continue: `${next}` } : {}) },
    items: all.slice(from, next),
  };
}

/** Calls `kubectl ncapp` with a kubeconfig whose context has the namespace `shop`. */
function plugin(...words: string[]) {
  return pluginOf({}, ...words);
}

/** The same as a user who may not list events, or on a terminal. */
async function pluginOf(
  { mayListEvents = true, hasCRD = true, ...io }: Partial<Io> & { mayListEvents?: boolean; hasCRD?: boolean },
  ...words: string[]
) {
  let requests: FakeServer["requests"] = [];
  const output = await withServer(({ method, path, query }, response) => {
    const name = /\/namespaces\/shop\/ncapps\/(.+)$/.exec(path)?.[1];
    if (!hasCRD) return refuse(response, 404, "NotFound", "404 page not found");
    if (path.endsWith("/ncapps")) return json(response, pageOf(path.includes("/shop/") ? apps : [], query));
    if (path.endsWith("/events") && !mayListEvents) {
      return refuse(
        response,
        403,
        "Forbidden",
        'events is forbidden: User "ann" cannot list resource "events"',
      );
    }
    if (path.endsWith("/shop/events")) {
      return json(response, {
        items: [{ type: "Normal", reason: "Started", message: "it began", count: 2 }],
      });
    }
    const found = apps.find(({ metadata }) => metadata.name === name);
    if (found && (method === "GET" || method === "PATCH")) return json(response, found);
    refuse(response, 404, "NotFound", "not found");
  }, (server) => {
    requests = server.requests;
    return callPlugin(server.url, words, io);
  });
  return { ...output, requests };
}

test("kubectl ncapp ps and top list the NCApps of the context's namespace with their nodes", async () => {
  const ps = await plugin("ps");
  assert.equal(ps.code, 0);
  assert.match(ps.stdout, /^NAMESPACE +NAME +NODE +PHASE/);
  assert.match(ps.stdout, /^shop +web +edge-7 +Running +True +3\.0\/20%/m);
  const top = await plugin("top");
  assert.equal(top.code, 0);
  assert.match(top.stdout, /^2 apps, 2 running\n\nAPP +NODE +PHASE +CPU +THROTTLED/);
  assert.match(top.stdout, /^shop\/web +edge-7 +Running +3\.0\/20%/m);
  for (const command of ["ps", "top"]) {
    assert.match((await plugin(command, "-n", "empty")).stdout, /^No NCApps in namespace empty/m);
  }
});

test("kubectl ncapp describe ends with the events", async () => {
  const { stdout } = await plugin("describe", "web");
  assert.match(stdout, /^Node: +edge-7$/m);
  assert.match(stdout, /Events:\n.*\n {2}Normal +Started +- \(x2\) +it began\n$/);
});

test("kubectl ncapp describe works for a user who may not list events", async () => {
  const { code, stdout, stderr } = await pluginOf({ mayListEvents: false }, "describe", "web");
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^Node: +edge-7$/m);
  assert.match(stdout, /^Events: cannot be read: GET \S+: 403 Forbidden: .*User "ann" cannot list.*\n$/m);
});

test("kubectl ncapp top -o json prints a list once, highest usage first, even on a terminal", async () => {
  // If it were watched, it would end at once and print no JSON.
  const terminal = { columns: 80, signal: AbortSignal.abort() };
  const { code, stdout } = await pluginOf(terminal, "top", "-o", "json");
  const { kind, items } = JSON.parse(stdout);
  assert.deepEqual([code, kind], [0, "NCAppList"]);
  assert.deepEqual(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name), [
    "local",
    "web",
  ]);
  assert.equal(items[0].status.cpuPCT, "9.0");
  assert.match((await plugin("top", "-o", "yaml")).stdout, /^kind: NCAppList$/m);
  assert.equal((await plugin("top", "-o", "name")).stdout, "shop/local\nshop/web\n");
  assert.match((await plugin("top", "-o", "wide")).stdout, /^APP .* AGE +SCRIPT$/m);
  assert.equal((await plugin("top", "-o", "xml")).code, 2);
});

test("kubectl ncapp restart sets the annotation, but not on a mirror", async () => {
  const { code, stdout, requests } = await plugin("restart", "shop/web");
  assert.deepEqual([code, stdout], [0, "shop/web is being restarted\n"]);
  const patch = requests.find(({ method }) => method === "PATCH");
  assert.equal(patch?.headers["content-type"], "application/merge-patch+json");
  assert.match(patch?.body ?? "", /^\{"metadata":\{"annotations":\{"app\.example\.com\/restartedAt":"20/);
  const mirror = await plugin("restart", "local");
  assert.equal(mirror.code, 1);
  assert.match(
    mirror.stderr,
    /shop\/local is the mirror of an app on edge-8: use 'nckubelet restart shop\/local' there/,
  );
  assert.ok(!mirror.requests.some(({ method }) => method === "PATCH"));
});

test("an unknown NCApp is an error of kubectl ncapp with a suggestion", async () => {
  const { code, stderr } = await plugin("describe", "wb");
  assert.deepEqual([code, stderr], [1, "kubectl ncapp: no NCApp shop/wb; did you mean web?\n"]);
  assert.match((await plugin("ps", "--help")).stdout, /^Usage: kubectl ncapp ps /m);
});

test("without the CRD, kubectl ncapp says how to install it", async () => {
  const { code, stderr } = await pluginOf({ hasCRD: false }, "ps");
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^kubectl ncapp: this cluster has no NCApps: install their CRD with 'nckubelet manifests \|/,
  );
});

test("kubectl ncapp says which command of kubectl does what it does not", async () => {
  const stop = await plugin("stop", "web");
  assert.equal(stop.code, 2);
  assert.match(stop.stderr, /^kubectl ncapp: unknown command "stop"; use: kubectl patch ncapp NAME /);
  assert.match((await plugin("delete", "web")).stderr, /use: kubectl delete ncapp NAME$/m);
});

test("kubectl ncapp lists page by page, also to find a suggestion", async () => {
  for (const words of [["ps"], ["top"], ["describe", "wb"]]) {
    const { requests, stdout, stderr } = await plugin(...words);
    const lists = requests.filter(({ path }) => path.endsWith("/ncapps"));
    assert.deepEqual(
      lists.map(({ query }) => [query.get("limit"), query.get("continue")]),
      [["500", null], ["500", "1"]],
    );
    assert.match(stdout + stderr, /local|did you mean web/);
  }
});

test("kubectl ncapp restart takes the namespace of the context for names without one", async () => {
  const mixed = await plugin("restart", "shop/web", "web");
  assert.deepEqual([mixed.stdout, mixed.stderr], ["shop/web is being restarted\n".repeat(2), ""]);
  const flagged = await plugin("restart", "-n", "shop", "shop/web", "web");
  assert.deepEqual([flagged.stdout, flagged.stderr], ["shop/web is being restarted\n".repeat(2), ""]);
  const elsewhere = await plugin("restart", "-n", "other", "shop/web");
  assert.match(elsewhere.stderr, /shop\/web is not in the namespace other of --namespace/);
});

test("an invalid name is quoted as typed", async () => {
  assert.match((await plugin("restart", "We b")).stderr, /^kubectl ncapp: "We b" is not the name of an app/);
});

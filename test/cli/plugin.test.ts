import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pluginCommands } from "../../src/cli/plugin.ts";
import { type FakeServer, json, refuse, withServer } from "../kube/fake-server.ts";
import { call } from "./call.ts";

const app = (name: string, node: string, annotations = {}) => ({
  apiVersion: "app.example.com/v1alpha1",
  kind: "NCApp",
  metadata: { name, namespace: "shop", uid: `uid-${name}`, annotations },
  spec: { shellFile: "/srv/web.sh", nodeName: node, cpuPCT: "20" },
  status: { phase: "Running", ready: true, cpuPCT: "3.0", memPCT: "1.0" },
});
const apps = [app("web", "edge-7"), app("local", "edge-8", { "app.example.com/config.mirror": "x" })];

/** Calls `kubectl ncapp` with a kubeconfig whose context has the namespace `shop`. */
async function plugin(...words: string[]) {
  const folder = await mkdtemp(join(tmpdir(), "nckubelet-plugin-"));
  let requests: FakeServer["requests"] = [];
  const said = await withServer(({ method, path }, response) => {
    const name = /\/namespaces\/shop\/ncapps\/(.+)$/.exec(path)?.[1];
    if (path.endsWith("/ncapps")) return json(response, { items: path.includes("/shop/") ? apps : [] });
    if (path.endsWith("/shop/events")) {
      return json(response, {
        items: [{ type: "Normal", reason: "Started", message: "it began", count: 2 }],
      });
    }
    const found = apps.find(({ metadata }) => metadata.name === name);
    if (found && (method === "GET" || method === "PATCH")) return json(response, found);
    refuse(response, 404, "NotFound", "not found");
  }, async (server) => {
    requests = server.requests;
    const KUBECONFIG = join(folder, "config");
    await writeFile(
      KUBECONFIG,
      `current-context: c
clusters: [{name: k, cluster: {server: "${server.url}"}}]
users: [{name: u, user: {}}]
contexts: [{name: c, context: {cluster: k, user: u, namespace: shop}}]
`,
    );
    return await call(words, { table: pluginCommands, program: "kubectl ncapp", env: { KUBECONFIG } }).done;
  });
  await rm(folder, { recursive: true });
  return { ...said, requests };
}

test("kubectl ncapp ps and top list the NCApps of the context's namespace with their nodes", async () => {
  for (const command of ["ps", "top"]) {
    const { code, stdout } = await plugin(command);
    assert.equal(code, 0);
    assert.match(stdout, /^NAMESPACE +NAME +NODE +PHASE/);
    assert.match(stdout, /^shop +web +edge-7 +Running +True +3\.0\/20%/m);
  }
  assert.match((await plugin("ps", "-n", "empty")).stdout, /^No NCApps in the namespace empty/);
});

test("kubectl ncapp describe ends with the events", async () => {
  const { stdout } = await plugin("describe", "web");
  assert.match(stdout, /^Node: +edge-7$/m);
  assert.match(stdout, /Events:\n.*\n {2}Normal +Started +- \(x2\) +it began\n$/);
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
    /kept on edge-8, this is its mirror: use 'nckubelet restart shop\/local' there/,
  );
  assert.ok(!mirror.requests.some(({ method }) => method === "PATCH"));
});

test("an NCApp that is not there is answered with the one that was meant, in the plugin's own name", async () => {
  const { code, stderr } = await plugin("describe", "wb");
  assert.deepEqual([code, stderr], [1, "kubectl ncapp: no NCApp shop/wb; did you mean web?\n"]);
  assert.match((await plugin("ps", "--help")).stdout, /^Usage: kubectl ncapp ps /m);
});

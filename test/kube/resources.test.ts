import assert from "node:assert/strict";
import { test } from "node:test";
import * as names from "../../src/api/names.ts";
import {
  apiVersionOf,
  describeRequest,
  leases,
  ncappPath,
  ncapps,
  nodes,
  resourcePath,
} from "../../src/kube/resources.ts";

test("the NCApp resource is the one that src/api names", () => {
  const { group, version, plural, kind } = names;
  assert.deepEqual(ncapps, { group, version, plural, kind, namespaced: true });
  assert.equal(apiVersionOf(ncapps), names.apiVersion);
});

test("paths match those of the API", () => {
  assert.equal(ncappPath(), "/apis/app.example.com/v1alpha1/ncapps");
  assert.equal(ncappPath("shop"), "/apis/app.example.com/v1alpha1/namespaces/shop/ncapps");
  assert.equal(
    ncappPath("shop", "web", "status"),
    "/apis/app.example.com/v1alpha1/namespaces/shop/ncapps/web/status",
  );
  assert.equal(resourcePath(nodes, { name: "n1" }), "/api/v1/nodes/n1");
  assert.equal(
    resourcePath(leases, { namespace: "kube-node-lease", name: "n1" }),
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1",
  );
});

test("a name cannot escape its segment of a path", () => {
  assert.equal(
    ncappPath("a", "../b?c#d"),
    "/apis/app.example.com/v1alpha1/namespaces/a/ncapps/..%2Fb%3Fc%23d",
  );
  assert.throws(() => ncappPath("a", ".."), /not a name: "\.\."/);
});

test("an object of a namespaced resource needs its namespace", () => {
  assert.throws(() => ncappPath(undefined, "web"), /ncapps "web": a namespace is needed/);
});

const requests: [string, string, string][] = [
  ["GET", "/apis/app.example.com/v1alpha1/ncapps?limit=5", "list ncapps"],
  ["GET", "/apis/app.example.com/v1alpha1/namespaces/a/ncapps/b", "get ncapps"],
  ["PATCH", "/apis/app.example.com/v1alpha1/namespaces/a/ncapps/b/status", "patch ncapps/status"],
  ["POST", "/api/v1/namespaces/a/events", "create events"],
  ["PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "update leases"],
  ["DELETE", "/api/v1/nodes/n1", "delete nodes"],
  ["GET", "/api/v1/namespaces/a", "get namespaces"],
  ["GET", "/version", "get /version"],
];

for (const [method, path, expected] of requests) {
  test(`${method} ${path} counts as ${expected}`, () => {
    const { verb, resource } = describeRequest(method, path);
    assert.equal(`${verb} ${resource}`, expected);
  });
}

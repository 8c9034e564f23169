import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCApp } from "../../../src/api/types.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { listAll } from "../../../src/kube/watch/watch.ts";
import { type ListOptions } from "../../../src/kube/watch/list.ts";
import { ncapps, nodes } from "../../../src/kube/resources.ts";
import { apiVersion } from "../../../src/api/names.ts";
import { type Answer, json, listOf, lists, ncapp, refuse, withClient } from "../fake-server.ts";

const list = (answer: Answer, options: Partial<ListOptions<NCApp>> = {}) =>
  withClient(answer, async (client, server) => {
    const { items, resourceVersion } = await listAll<NCApp>(client, { resource: ncapps, ...options });
    const queries = server.requests.map(({ query }) => query);
    return { names: items.map(({ metadata }) => metadata.name), items, resourceVersion, queries };
  });

test("listAll() reads every page and keeps the items that pass the filter", async () => {
  const pages: Answer[] = [
    lists([ncapp("a"), ncapp("b", "node-b")], "10", "page2"),
    lists([ncapp("c", "node-b")], "10", "page3"),
    lists([ncapp("d")], "10"),
  ];
  const { names, resourceVersion, queries } = await list((...args) => pages[args[2]]!(...args), {
    filter: ({ spec }) => spec?.nodeName === "node-a",
    pageSize: 2,
    labelSelector: "tier=edge",
  });
  assert.deepEqual(names, ["a", "d"]);
  assert.equal(resourceVersion, "10");
  assert.deepEqual(queries.map((query) => query.get("continue")), [null, "page2", "page3"]);
  assert.deepEqual(queries.map((query) => query.get("limit")), ["2", "2", "2"]);
  assert.deepEqual(queries.map((query) => query.get("labelSelector")), [
    "tier=edge",
    "tier=edge",
    "tier=edge",
  ]);
});

test("listAll() drops managedFields and fills in the kind that lists of built-in resources leave out", async () => {
  const node = { metadata: { name: "n1", uid: "u", resourceVersion: "1", managedFields: [{}] } };
  const answer: Answer = (_, response) =>
    json(response, { kind: "NodeList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [node] });
  await withClient(answer, async (client) => {
    const { items } = await listAll(client, { resource: nodes });
    assert.deepEqual(items, [{
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n1", uid: "u", resourceVersion: "1" },
    }]);
  });
});

test("listAll() returns nothing for a valid empty list", async () => {
  assert.deepEqual((await list(lists([]))).names, []);
});

test("listAll() starts over from the first page if the server expired the snapshot", async () => {
  const answers: Answer[] = [
    lists([ncapp("old")], "10", "page2"),
    (_, response) => refuse(response, 410, "Expired", "the continue token is too old"),
    lists([ncapp("new")], "20"),
  ];
  const { names, queries } = await list((...args) => answers[args[2]]!(...args));
  assert.deepEqual(names, ["new"]);
  assert.deepEqual(queries.map((query) => query.get("continue")), [null, "page2", null]);
});

test("listAll() does not start over forever", async () => {
  const answer: Answer = ({ query }, response) =>
    query.has("continue")
      ? refuse(response, 410, "Expired", "too old")
      : json(response, listOf([], "1", "next"));
  await assert.rejects(list(answer), /410 Expired: too old/);
});

test("listAll() asks for smaller pages when one is too large", async () => {
  const answer: Answer = ({ query }, response) => {
    const count = Number(query.get("limit"));
    json(response, listOf(Array.from({ length: Math.min(count, 64) }, (_, i) => ncapp(`app-${i}`)), "1"));
  };
  await withClient(answer, async (client, server) => {
    await listAll(client, { resource: ncapps, pageSize: 64 });
    assert.deepEqual(server.requests.map(({ query }) => query.get("limit")), ["64", "8"]);
  }, { maxBodyBytes: 4096 });
});

const good = ncapp("a");
const faults: [string, unknown, RegExp][] = [
  ["items null", listOf(null), /its items are null/],
  ["no items", listOf(undefined), /its items are undefined/],
  ["items that are a map", listOf({}), /its items are \{\}/],
  ["a list of another resource", { ...listOf([]), kind: "PodList" }, /its kind is "PodList"/],
  ["a list of another group", { ...listOf([]), apiVersion: "v1" }, /its apiVersion is "v1"/],
  ["one object instead of a list", good, /its kind is "NCApp"/],
  ["no version", { ...listOf([]), metadata: {} }, /it has no resourceVersion/],
  ["version 0", listOf([], "0"), /its resourceVersion is "0", so it is incomplete/],
  [
    "remaining items without a token to read them",
    { ...listOf([good]), metadata: { resourceVersion: "1", remainingItemCount: 3 } },
    /it is incomplete: its remainingItemCount is 3, and it has no continue token/,
  ],
  ["no metadata", { ...listOf([]), metadata: undefined }, /it has no resourceVersion/],
  ["a null item", listOf([good, null]), /an object is null/],
  ["an item of another kind", listOf([{ ...good, kind: "Pod" }]), /an object has kind "Pod"/],
  ["an item of another version", listOf([{ ...good, apiVersion: "v2" }]), /an object has apiVersion "v2"/],
  ["an item without metadata", listOf([{ apiVersion, kind: "NCApp" }]), /an object has no name/],
  ["an item without uid", listOf([{ ...good, metadata: { ...good.metadata, uid: "" } }]), /"a" has no uid/],
  [
    "an item without namespace",
    listOf([{ ...good, metadata: { ...good.metadata, namespace: undefined } }]),
    /no namespace/,
  ],
];

for (const [what, body, expected] of faults) {
  test(`listAll() refuses ${what} instead of reading an empty list`, async () => {
    await assert.rejects(list((_, response) => json(response, body)), (error) => {
      assert.ok(error instanceof KubeError);
      assert.match(error.message, expected);
      assert.equal(error.reason, "BadAnswer");
      return true;
    });
  });
}

test("listAll() refuses an object of a namespace that it did not ask for", async () => {
  await assert.rejects(list(lists([ncapp("a")]), { namespace: "shop" }), /"a" is in namespace "default"/);
});

test("listAll() refuses pages of different snapshots", async () => {
  const pages = [lists([ncapp("a")], "10", "page2"), lists([ncapp("b")], "11")];
  await assert.rejects(
    list((...args) => pages[args[2]]!(...args)),
    /pages are of different versions, 10 and 11/,
  );
});

test("listAll() fails if a later page fails", async () => {
  const pages: Answer[] = [
    lists([ncapp("a")], "10", "page2"),
    (_, response) => refuse(response, 500, "InternalError", "oops"),
  ];
  await assert.rejects(list((...args) => pages[args[2]]!(...args)), /500 InternalError: oops/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { NCApp } from "../../src/api/types.ts";
import { objectsOf, writeNewest } from "../../src/kube/guarded-write.ts";
import { hasStatus, isOutdated, KubeError, wasRejected } from "../../src/kube/kube-error.ts";
import { ncapps } from "../../src/kube/resources.ts";
import { ncapp } from "../builders.ts";
import { FakeApi } from "./fake-api.ts";

const path = "/apis/app.example.com/v1alpha1/namespaces/default/ncapps/web";

function setUp() {
  const api = new FakeApi();
  const app: NCApp & { metadata: { uid: string } } = api.put(path, ncapp({ metadata: { name: "web" } }));
  return { api, app, objects: objectsOf<NCApp>(api.client, ncapps) };
}

test("a patch and a deletion are rejected if the object has changed, was recreated or is gone", async () => {
  const { api, app: { metadata }, objects } = setUp();
  const patched = await objects.patch(metadata, { spec: { suspend: true } });
  assert.equal(patched.spec.suspend, true);
  const writes = [
    () => objects.patch(metadata, { spec: {} }),
    () => objects.patch({ ...metadata, subresource: "status" }, { status: {} }),
    () => objects.patchTested(metadata, [{ op: "test", path: "/metadata/uid", value: metadata.uid }]),
    () => objects.remove(metadata),
  ];
  for (const write of writes.toSpliced(2, 1)) await assert.rejects(write(), isOutdated);
  api.put(path, ncapp({ metadata: { name: "web", uid: "other" } }));
  for (const write of writes) {
    await assert.rejects(write(), (error) => isOutdated(error) || hasStatus(error, 422));
  }
  api.objects.clear();
  for (const write of writes) await assert.rejects(write(), isOutdated);
  assert.equal(await objects.read(metadata), undefined);
});

test("a deletion returns the object if a finalizer keeps it", async () => {
  const { api, app: { metadata }, objects } = setUp();
  api.intercept = ({ method }) =>
    method === "DELETE"
      ? api.touch(path, ({ metadata }) => metadata.deletionTimestamp = "2026-01-01")
      : undefined;
  assert.equal((await objects.remove(metadata))?.metadata.uid, metadata.uid);
  api.intercept = () => ({ kind: "Status", status: "Success", details: { uid: metadata.uid } });
  assert.equal(await objects.remove(metadata), undefined);
});

test("a 200 that is not such an object is an error, which decides nothing", async () => {
  const { api, app, objects } = setUp();
  for (const answer of [{}, { ...app, kind: "Pod" }, { kind: "Status", status: "Success" }]) {
    api.intercept = () => answer;
    for (const asked of [objects.read(app.metadata), objects.patch(app.metadata, {}), objects.create(app)]) {
      await assert.rejects(
        asked,
        (error) => error instanceof KubeError && error.reason === "BadAnswer" && !wasRejected(error),
      );
    }
  }
});

test("what the server rejects is told from what it could not answer", () => {
  const of = (status?: number) =>
    wasRejected(new KubeError("", { method: "GET", url: "", status, reason: "" }));
  for (const status of [400, 403, 404, 409, 422]) assert.ok(of(status), `${status}`);
  for (const status of [undefined, 200, 401, 408, 429, 500, 503]) assert.ok(!of(status), `${status}`);
});

test("writeNewest() loses no write of other clients, and gives up when they write all the time", async () => {
  for (const conflicts of [0, 1, 3, 5]) {
    const { api, app, objects } = setUp();
    const add = ({ metadata: { labels = {} } }: NCApp, name: string) => ({ ...labels, [name]: "yes" });
    let others = 0;
    // Another client writes between our read and our write.
    api.intercept = ({ method }) => {
      if (method !== "PATCH" || others >= conflicts) return;
      others++;
      api.touch(path, (object) => object.metadata.labels = add(object, `other-${others}`));
    };
    const written = await writeNewest<NCApp, boolean>(app, {
      read: () => objects.read(app.metadata),
      async write(newest) {
        await objects.patch(newest!.metadata, { metadata: { labels: add(newest!, "own") } });
        return true;
      },
    }).catch((error) => !hasStatus(error, 409));
    assert.equal(written, conflicts < 5);
    assert.equal(Object.keys(api.get(path).metadata.labels).length, conflicts + (written ? 1 : 0));
  }
});

test("writeNewest() reads what it does not know, and passes on that there is nothing", async () => {
  const { api, app, objects } = setUp();
  const ask = () =>
    writeNewest<NCApp, string | undefined>(undefined, {
      read: () => objects.read(app.metadata),
      write: async (newest) => newest?.metadata.uid,
    });
  assert.equal(await ask(), app.metadata.uid);
  api.objects.clear();
  assert.equal(await ask(), undefined);
  api.intercept = () => 500;
  await assert.rejects(ask(), (error) => hasStatus(error, 500));
});

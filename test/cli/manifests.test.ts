import assert from "node:assert/strict";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { json, withServer } from "../kube/fake-server.ts";
import { call } from "./call.ts";

async function kindsOf(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await call(["manifests", ...words]).done;
  assert.equal(code, 0, stderr);
  return [...new Set(loadAll(stdout).map((document) => (document as { kind: string }).kind))];
}

test("manifests fit any server, and more of them one that is new enough", async () => {
  const any = await kindsOf();
  assert.ok(any.includes("CustomResourceDefinition") && any.includes("ClusterRole"), any.join());
  assert.ok(!any.includes("ValidatingAdmissionPolicy") && !any.includes("Deployment"), any.join());
  assert.ok((await kindsOf("--server-minor", "34")).includes("ValidatingAdmissionPolicy"));
  assert.ok((await kindsOf("--image", "example.com/nckubelet:1")).includes("Deployment"));
});

test("manifests asks the server for its version", async () => {
  await withServer(
    (_, response) => json(response, { gitVersion: "v1.31.2-gke", minor: "31+" }),
    async ({ url }) => {
      assert.ok((await kindsOf("--server", url)).includes("ValidatingAdmissionPolicy"));
    },
  );
  const gone = await call(["manifests", "--server", "http://127.0.0.1:1"]).done;
  assert.deepEqual([gone.code, gone.stdout], [1, ""]);
});

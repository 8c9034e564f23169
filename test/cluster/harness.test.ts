import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import process from "node:process";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { namespaces } from "../../src/kube/resources.ts";
import { streamList } from "../../src/kube/watch/watch.ts";
import { withControlPlane } from "../harness/control-plane.ts";
import { hasFeature, parseVersion } from "../harness/kubernetes-version.ts";
import { skipUnless } from "../harness/parts.ts";
import { processesNaming, waitUntilNoProcess } from "../harness/processes.ts";
import { tempFolder } from "../temp-folder.ts";

const skip = skipUnless("control-plane");

// Its name is in the command lines of etcd and kube-apiserver, and all of their files are in it.
const temp = tempFolder({ after }).path;
process.env.TMPDIR = temp;

test("withControlPlane() starts a real cluster and leaves nothing behind", { skip }, async (t) => {
  await withControlPlane(async (cluster) => {
    await t.test("a kubectl that fails is an error with its message", async () => {
      await assert.rejects(
        cluster.kubectl(["get", "configmap", "absent"]),
        /get configmap absent.*"absent" not found/,
      );
    });

    await t.test("the server streams lists", async (t) => {
      // API servers do not rely on the progress requests of an older etcd.
      const outdated = /^3\.(?:4\.(?:\d|[12]\d|30)|5\.(?:\d|1[0-2]))$/.test(await cluster.etcdVersion());
      if (cluster.version.minor < 34 || outdated) return t.skip("this API server does not stream lists");
      const client = await cluster.clientOf("admin");
      const list = await streamList(client, {
        resource: namespaces,
        query: { watch: true, allowWatchBookmarks: true },
        filter: () => true,
        patience: { silenceMs: 30_000, dueMs: 60_000 },
        signal: t.signal,
      });
      assert.ok(list, "the server streams lists");
      list.stream.stop();
      assert.ok(list.items.some(({ metadata }) => metadata.name === "default"));
    });
  });
  assert.deepEqual(await processesNaming(temp), []);
  assert.deepEqual(await readdir(temp), []);
});

test("a control plane ends when the test process is killed", { skip }, async () => {
  const file = fileURLToPath(new URL("../harness/fixtures/hold-control-plane.ts", import.meta.url));
  const holder = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  assert.equal((await processesNaming(temp)).length, 2);
  holder.kill("SIGKILL");
  await waitUntilNoProcess(temp);
});

describe("hasFeature()", () => {
  test("decides by the version, also by a vendor's", () => {
    const old = parseVersion('{"major":"1","minor":"20","gitVersion":"v1.20.2"}');
    const current = parseVersion('{"major":"1","minor":"34+","gitVersion":"v1.34.1-vendor.2"}');
    for (const feature of ["cel", "admission-policy", "selectable-fields"] as const) {
      assert.equal(hasFeature(old, feature), false, feature);
      assert.equal(hasFeature(current, feature), true, feature);
    }
  });
});

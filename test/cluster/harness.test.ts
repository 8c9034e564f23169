import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import process from "node:process";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { namespaces } from "../../src/kube/resources.ts";
import { streamList } from "../../src/kube/watch/stream-list.ts";
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
    await t.test("kubectl prints the version of the server", async () => {
      const { stdout } = await cluster.kubectl(["version", "-o", "json"]);
      assert.equal(JSON.parse(stdout).serverVersion.gitVersion, cluster.version.gitVersion);
      assert.match(cluster.version.gitVersion, /^v1\.\d+/);
    });

    await t.test("the server refuses an unknown token", async () => {
      const { code, stderr } = await cluster.kubectl(["get", "ns"], { token: "unknown", allowFail: true });
      assert.equal(code, 1);
      // Since 1.24 kubectl words it differently.
      assert.match(stderr, /Unauthorized|provide credentials/);
    });

    await t.test("the server refuses a known user without rights, by token and by certificate", async () => {
      const certificate = await cluster.certificateKubeconfigFor({ name: "visitor", groups: [] });
      for (
        const [name, kubeconfig] of [["stranger", await cluster.kubeconfigFor("stranger")], [
          "visitor",
          certificate,
        ]]
      ) {
        const { stderr } = await cluster.kubectl(["get", "ns"], { kubeconfig, allowFail: true });
        assert.match(stderr, new RegExp(`Forbidden.*User "${name}" cannot list`));
      }
    });

    await t.test("the groups of a certificate count", async () => {
      const kubeconfig = await cluster.certificateKubeconfigFor({ name: "root", groups: ["system:masters"] });
      await cluster.kubectl(["create", "configmap", "kept", "--from-literal=a=b"], { kubeconfig });
    });

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

    await t.test("a paused API server does not answer until it is resumed", async () => {
      await cluster.apiServer.pause();
      await assert.rejects(cluster.request("/version", { timeoutMs: 500 }), /no answer in 500 ms/);
      cluster.apiServer.resume();
      assert.equal((await cluster.request("/version")).status, 200);
    });

    await t.test("a killed API server refuses connections; after a restart it has its data", async () => {
      await cluster.apiServer.kill("SIGKILL");
      await assert.rejects(cluster.request("/version"), { code: "ECONNREFUSED" });
      await cluster.etcd.kill("SIGKILL");
      await cluster.etcd.start();
      await cluster.apiServer.start();
      const { stdout } = await cluster.kubectl(["get", "configmap", "kept", "-o", "jsonpath={.data.a}"]);
      assert.equal(stdout, "b");
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

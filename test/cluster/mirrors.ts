/**
 * Mirrors of local apps at a real API server, as an agent with the shipped roles: without and with the right to write mirrors.
 */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { agentUser } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { listAll } from "../../src/kube/watch/watch.ts";
import { ncappPath, ncapps } from "../../src/kube/resources.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { createMirrors, type ServerApp } from "../../src/report/mirrors/mirrors.ts";
import { createStatusReporter } from "../../src/report/status/status.ts";
import { manifest } from "../builders.ts";
import type { Cluster } from "../harness/cluster.ts";
import { allowMirrors } from "../harness/install-crd.ts";
import { createTestLog } from "../report/test-log.ts";

const names = ["node-1", "node-2"];
const env = [{ name: "TOKEN", value: "secret" }];
const local = (name: string, spec: NCApp["spec"] = {}): NCApp =>
  manifest(name, { shellFile: "/opt/run.sh", cpuPCT: "20", env, ...spec }, { namespace: "default" });

export function testMirrors(shared: () => Cluster): void {
  let cluster: Cluster;
  let admin: KubeClient;
  const clients = new Map<string, KubeClient>();

  before(async () => {
    cluster = shared();
    admin = await cluster.clientOf("admin");
    for (const name of names) clients.set(name, await cluster.clientOf(agentUser(name)));
  });

  const setUp = (node: string, log = silentLogger) => {
    const client = clients.get(node)!;
    const existing = async () => {
      const filter = ({ spec }: ServerApp) => spec.nodeName === node;
      return (await listAll<ServerApp>(client, { resource: ncapps, filter })).items as ServerApp[];
    };
    const mirrors = createMirrors({ client, node, log });
    const sync = async (...apps: NCApp[]) => await mirrors.sync(apps, await existing(), true);
    return { client, mirrors, sync };
  };
  const read = (name: string): Promise<ServerApp> => admin.request({ path: ncappPath("default", name) });

  test("without the right to write mirrors the agent reports the missing right, and nothing else happens", async () => {
    const log = createTestLog();
    await setUp("node-1", log).sync(local("web"), local("job"));
    assert.deepEqual(log.lines, [
      "info agents may not write mirrors in this namespace; kubectl does not show its local apps",
    ]);
    assert.match(log.text(), /kubectl -n default create rolebinding nckubelet-mirror/);
    await assert.rejects(read("web"), { status: 404 });
  });

  test("kubectl get shows a local app with its status, and no value of a variable", async () => {
    await allowMirrors(cluster);
    const { client, mirrors, sync } = setUp("node-1");
    await sync(local("web"));
    const reporter = createStatusReporter({
      client,
      node: "node-1",
      log: silentLogger,
      reportPeriodMs: 10_000,
    });
    reporter.report(mirrors.targetOf("default/web")!, { phase: "Running", ready: true, restarts: 2 }, {});
    await reporter.flush(10_000);
    reporter.close();
    const { stdout } = await cluster.kubectl(["get", "ncapp", "web"]);
    assert.match(stdout, /web +node-1 +Running +true +2 /);
    const { stdout: yaml } = await cluster.kubectl(["get", "ncapp", "web", "-o", "yaml"]);
    assert.doesNotMatch(yaml, /secret/);
  });

  test("an agent that restarts finds its mirrors and writes nothing", async () => {
    const before = await read("web");
    const { mirrors, sync } = setUp("node-1");
    await sync(local("web"));
    assert.deepEqual(await read("web"), before);
    assert.equal(mirrors.targetOf("default/web")?.uid, before.metadata.uid);
  });

  test("a deleted mirror is recreated as a new object, and an edited one is restored", async () => {
    const { sync } = setUp("node-1");
    const { metadata: { uid } } = await read("web");
    await cluster.kubectl(["delete", "ncapp", "web"]);
    await sync(local("web"));
    assert.notEqual((await read("web")).metadata.uid, uid);
    await cluster.kubectl([
      "patch",
      "ncapp",
      "web",
      "--type=merge",
      "-p",
      '{"spec":{"cpuPCT":"90","suspend":true}}',
    ]);
    await sync(local("web"));
    const { spec } = await read("web");
    assert.deepEqual([spec.cpuPCT, spec.suspend], ["20", false]);
  });

  test("a copy of a mirror, made with kubectl, is neither changed nor deleted", async () => {
    const { sync } = setUp("node-1");
    await sync(local("web"));
    const { stdout } = await cluster.kubectl(["get", "ncapp", "web", "-o", "json"]);
    const { metadata: { annotations, labels, namespace }, ...rest } = JSON.parse(stdout);
    const copy = { ...rest, metadata: { name: "copy", namespace, annotations, labels } };
    await cluster.apply(copy);
    const before = await read("copy");
    await sync(local("web"));
    await sync();
    assert.deepEqual(await read("copy"), before);
    await assert.rejects(read("web"), { status: 404 });
    await cluster.kubectl(["delete", "ncapp", "copy"]);
    await sync(local("web"));
  });

  test("the mirror follows its app, and drops what the app no longer has", async () => {
    const { sync } = setUp("node-1");
    await sync(local("web", { memPCT: "10", cpuPCT: undefined }));
    const { spec } = await read("web");
    assert.deepEqual([spec.memPCT, spec.cpuPCT, spec.pidsMax], ["10", undefined, 4096]);
  });

  test("the same app on two nodes has two mirrors, and each node deletes only its own", async () => {
    const [one, two] = [setUp("node-1"), setUp("node-2")];
    await two.sync(local("web"));
    await two.sync(local("web"));
    assert.equal((await read("web-node-2")).spec.nodeName, "node-2");
    await one.sync();
    await assert.rejects(read("web"), { status: 404 });
    assert.ok(await read("web-node-2"));
    await two.sync();
    await assert.rejects(read("web-node-2"), { status: 404 });
  });
}

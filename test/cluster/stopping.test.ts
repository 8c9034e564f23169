/**
 * Apps that take a while to stop, on two real agents with a scheduler: what holds until the last process has ended. Judged from outside,
 * by the process list, by what the scripts write down, and by when `kubectl wait` returns.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { agentLease, agentUser, leaseNamespace, nodeFinalizer } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { type AgentProcess, startAgentProcess } from "../agent-process.ts";
import { manifest } from "../builders.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { processesNaming } from "../harness/processes.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";
import { startSchedulerCommand } from "./scheduler-command.ts";

describe("apps that take a while to stop", { skip: skipUnless("control-plane"), timeout: 240_000 }, () => {
  const opened = new AsyncDisposableStack();
  const agents: Record<string, AgentProcess> = {};
  let cluster: Cluster;
  let shellFile = "";
  let journal = "";

  before(async () => {
    cluster = await startControlPlane();
    opened.defer(() => cluster.stop());
    await installCRD(cluster);
    const folder = opened.use(tempFolder()).path;
    shellFile = join(folder, "slow.sh");
    journal = join(folder, "journal");
    const lines = [
      "#!/bin/sh",
      `note() { echo "$1 on $NODE_NAME $2" >> ${journal}; }`,
      `trap 'until [ -e ${journal}-"$1" ]; do sleep 0.1; done; note "$1" ends; exit 0' TERM`,
      'note "$1" starts',
      "while :; do sleep 86398 & wait; done",
    ];
    await writeFile(shellFile, lines.join("\n"), { mode: 0o755 });
    for (const node of ["node-a", "node-b"]) {
      const kubeconfig = await cluster.kubeconfigFor(agentUser(node));
      // Only the scheduler counts the caps; this machine may be unable to enforce them.
      const flags = ["--kubeconfig", kubeconfig, "--node-name", node, "--enforce", "best-effort"];
      agents[node] = opened.use(await startAgentProcess(flags));
    }
    const kubeconfig = await cluster.kubeconfigFor("nckubelet-scheduler");
    opened.use(await startSchedulerCommand(["--kubeconfig", kubeconfig]));
  });
  after(() => opened.disposeAsync());

  const apply = (name: string, spec: Partial<NCApp["spec"]>, finalizers?: string[]) =>
    cluster.apply(manifest(name, { shellFile, args: [name], ...spec }, { finalizers }));
  const get = (name: string) => cluster.get<NCApp>(ncappPath("default", name));
  const patch = (name: string, change: object) =>
    cluster.kubectl(["patch", "ncapp", name, "--type=merge", "-p", JSON.stringify(change)]);
  const waitsFor = (name: string, condition: string) =>
    cluster.kubectl(["wait", `ncapp/${name}`, `--for=${condition}`, "--timeout=60s"]);
  /** As `waitsFor(name, "delete")`; before 1.23, kubectl fails for an object that is gone already. */
  const waitsForDeletion = async (name: string) => {
    const wait = ["wait", `ncapp/${name}`, "--for=delete", "--timeout=60s"];
    const { code, stderr } = await cluster.kubectl(wait, { allowFail: true });
    if (code !== 0) assert.match(stderr, /no matching resources found|NotFound/);
  };
  const reach = (what: string, name: string, is: (app: NCApp) => unknown) =>
    waitFor(what, async () => {
      const app = await get(name);
      return is(app) ? app : undefined;
    }, 30_000);
  const processes = (name: string) => processesNaming(`${shellFile}\0${name}\0`);
  /** Waits for the lines: without a probe, an app is ready when its process runs, which may be before its first line. */
  const tells = async (name: string, lines: string[]) => {
    await waitFor(`the lines of ${name}`, async () => (await story(name)).length >= lines.length);
    assert.deepEqual(await story(name), lines);
  };
  const story = async (name: string) =>
    (await readFile(journal, "utf8")).split("\n").filter((line) => line.startsWith(`${name} `))
      .map((line) => line.slice(name.length + 1));
  /** Lets the script of an app end; until then it ignores the request to stop. */
  const mayEnd = (name: string) => writeFile(`${journal}-${name}`, "");
  const isEmpty = (list: unknown[]) => list.length === 0;

  test("a deleted app keeps its share, its port and its object until its last process has ended", async () => {
    const large = {
      cpuPCT: "60",
      ports: [{ port: 18_080 }],
      nodeSelector: { "kubernetes.io/hostname": "node-a" },
    };
    await apply("one", large);
    await waitsFor("one", "condition=Ready");
    assert.deepEqual((await get("one")).metadata.finalizers, [nodeFinalizer]);
    assert.equal((await get("one")).status?.nodeName, "node-a");
    await apply("two", large);
    await reach("it finds no node", "two", ({ status }) => status?.reason === "Unschedulable");
    await cluster.kubectl(["delete", "ncapp", "one", "--wait=false"]);
    await reach("it is being stopped", "one", ({ status }) => status?.phase === "Stopping");
    assert.equal((await get("two")).spec.nodeName, undefined);
    await mayEnd("one");
    await waitsForDeletion("one");
    assert.deepEqual(await processes("one"), [], "kubectl wait --for=delete returned when nothing was left");
    await waitsFor("two", "condition=Ready");
    await tells("two", ["on node-a starts"]);
    const lines = (await readFile(journal, "utf8")).trim().split("\n");
    assert.deepEqual(lines, ["one on node-a starts", "one on node-a ends", "two on node-a starts"]);
    // kubectl delete waits by itself.
    await mayEnd("two");
    await cluster.kubectl(["delete", "ncapp", "two"]);
    assert.deepEqual(await processes("two"), []);
  });

  test("an app that a foreign finalizer keeps stops when it is deleted, says so, and does not start again", async () => {
    await apply("kept", { nodeName: "node-a" }, ["example.com/audit"]);
    await waitsFor("kept", "condition=Ready");
    await cluster.kubectl(["delete", "ncapp", "kept", "--wait=false"]);
    await waitsFor("kept", "condition=Ready=false");
    await mayEnd("kept");
    const isDeleted = ({ status }: NCApp) => status?.nodeName === "" && status.reason === "Deleted";
    const { status } = await reach("it has stopped", "kept", isDeleted);
    assert.deepEqual(await processes("kept"), []);
    assert.deepEqual([status?.phase, status?.ready], ["Pending", false]);
    const { stdout } = await cluster.kubectl(["get", "events", "--field-selector=involvedObject.name=kept"]);
    assert.match(stdout, /Stopping: the app was deleted/);
    // What would start another app does not start this one.
    await patch("kept", {
      metadata: { annotations: { "app.example.com/restartedAt": "now" } },
      spec: { args: ["kept", "2"] },
    });
    await reach(
      "the edit was seen",
      "kept",
      ({ metadata, status }) => status?.observedGeneration === metadata.generation,
    );
    await agents["node-a"]!.kill();
    await agents["node-a"]!.start();
    await reach("our finalizer is removed", "kept", ({ metadata }) => metadata.finalizers?.length === 1);
    await tells("kept", ["on node-a starts", "on node-a ends"]);
    await patch("kept", { metadata: { finalizers: null } });
    await waitsForDeletion("kept");
  });

  test("an app that was moved starts when it has stopped on its old node, even if that agent is killed meanwhile", async () => {
    await apply("moved", { nodeName: "node-a" });
    await waitsFor("moved", "condition=Ready");
    await patch("moved", { spec: { nodeName: "node-b" } });
    const { status } = await reach("it waits", "moved", ({ status }) => status?.reason === "StillStopping");
    assert.deepEqual([status?.phase, status?.message], [
      "Pending",
      "waiting until it has stopped on node node-a",
    ]);
    assert.equal(status?.nodeName, "node-a");
    await agents["node-a"]!.kill();
    await mayEnd("moved");
    await agents["node-a"]!.start();
    await waitsFor("moved", "condition=Ready");
    assert.equal((await get("moved")).status?.nodeName, "node-b");
    await tells("moved", ["on node-a starts", "on node-a ends", "on node-b starts"]);
    await cluster.kubectl(["delete", "ncapp", "moved"]);
    assert.deepEqual(await processes("moved"), []);
  });

  test("an app that makes room, and one that is replaced by force, keep their share until they have stopped", async () => {
    await cluster.kubectl(["create", "priorityclass", "urgent", "--value=1000"]);
    const large = { cpuPCT: "60", nodeSelector: { "kubernetes.io/hostname": "node-a" } };
    await apply("low", large);
    await waitsFor("low", "condition=Ready");
    await apply("high", { ...large, priorityClassName: "urgent" });
    await reach("it has to go", "low", ({ spec, status }) => !spec.nodeName && status?.nodeName === "node-a");
    assert.equal((await get("high")).spec.nodeName, undefined);
    await mayEnd("low");
    await waitsFor("high", "condition=Ready");
    await tells("high", ["on node-a starts"]);
    const lines = (await readFile(journal, "utf8")).trim().split("\n").slice(-3);
    assert.deepEqual(lines, ["low on node-a starts", "low on node-a ends", "high on node-a starts"]);

    const { metadata: { name }, spec } = await get("high");
    const elsewhere = { ...spec, nodeName: "node-b", nodeSelector: undefined };
    const input = JSON.stringify(manifest(name, elsewhere));
    const replaced = cluster.kubectl(["replace", "--force", "-f", "-"], { input });
    await reach("it is being stopped", "high", ({ status }) => status?.phase === "Stopping");
    await mayEnd("high");
    await replaced;
    await waitsFor("high", "condition=Ready");
    await tells("high", ["on node-a starts", "on node-a ends", "on node-b starts"]);
    await cluster.kubectl(["delete", "ncapp", "low", "high"]);
  });

  test("an app that is unbound says at once that it does not run, whichever scheduler it has", async () => {
    await apply("loose", { nodeName: "node-a", schedulerName: "another" });
    await waitsFor("loose", "condition=Ready");
    await waitsFor("loose", "condition=Scheduled");
    await patch("loose", { spec: { nodeName: null } });
    await waitsFor("loose", "condition=Ready=false");
    await waitsFor("loose", "condition=Scheduled=false");
    await mayEnd("loose");
    const { status } = await reach("it has stopped", "loose", ({ status }) => status?.nodeName === "");
    assert.deepEqual(await processes("loose"), []);
    assert.deepEqual([status?.phase, status?.reason, status?.ready, status?.pid], [
      "Pending",
      "Unbound",
      false,
      undefined,
    ]);
    await patch("loose", { spec: { nodeName: "node-b" } });
    await waitsFor("loose", "condition=Ready");
    await tells("loose", ["on node-a starts", "on node-a ends", "on node-b starts"]);
    await cluster.kubectl(["delete", "ncapp", "loose"]);
    await waitFor("it has stopped", async () => isEmpty(await processes("loose")));
  });

  test("kubectl taint: an app leaves once its tolerationSeconds are over, and returns after the taint; kubectl wait sees each edit", async () => {
    await apply("brief", {
      nodeSelector: { "kubernetes.io/hostname": "node-a" },
      tolerations: [{ key: "upkeep", operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 }],
    });
    await waitsFor("brief", "condition=Ready");
    await patch("brief", { spec: { terminationGracePeriodSeconds: 20 } });
    await waitsFor("brief", "condition=Scheduled");
    await mayEnd("brief");
    await cluster.kubectl(["taint", "nodes", "node-a", "upkeep=now:NoExecute"]);
    const why = /tolerated for 1 s only/;
    await reach("it fits nowhere", "brief", ({ status }) => why.test(status?.message ?? ""));
    await tells("brief", ["on node-a starts", "on node-a ends"]);
    await patch("brief", { spec: { terminationGracePeriodSeconds: 10 } });
    await waitsFor("brief", "condition=Scheduled=false");
    await cluster.kubectl(["taint", "nodes", "node-a", "upkeep-"]);
    await waitsFor("brief", "condition=Scheduled");
    await waitsFor("brief", "condition=Ready");
    await tells("brief", ["on node-a starts", "on node-a ends", "on node-a starts"]);
    await cluster.kubectl(["delete", "ncapp", "brief"]);
  });

  test("an app whose old node has no agent any more starts on its new one", async () => {
    await apply("stranded", { nodeName: "node-a", schedulerName: "another" });
    await waitsFor("stranded", "condition=Ready");
    await agents["node-a"]!.kill();
    // A missing Lease counts after 40 s: that would be a long test.
    const short = JSON.stringify({ spec: { leaseDurationSeconds: 1 } });
    const lease = ["lease", agentLease("node-a"), "-n", leaseNamespace];
    await cluster.kubectl(["patch", ...lease, "--type=merge", "-p", short]);
    await patch("stranded", { spec: { nodeName: "node-b" } });
    await waitsFor("stranded", "condition=Ready");
    assert.equal((await get("stranded")).status?.nodeName, "node-b");
    await mayEnd("stranded");
    await agents["node-a"]!.start();
    await waitFor(
      "the returning agent stops its copy",
      async () => (await story("stranded")).includes("on node-a ends"),
    );
    assert.equal((await get("stranded")).status?.nodeName, "node-b", "and leaves the other's report alone");
    await cluster.kubectl(["delete", "ncapp", "stranded"]);
  });
});

/** `nckubelet controller` as real processes on a real API server, with the roles of crd/rbac.yaml. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  apiVersion,
  schedulerLease,
  setCrdName,
  setKind,
  setsLease,
  systemNamespace,
} from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { Lease } from "../../src/kube/lease.ts";
import { leases, ncappPath, ncappsets, resourcePath } from "../../src/kube/resources.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { createApp } from "../harness/create-app.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { waitFor } from "../wait-for.ts";
import { endLease } from "./end-lease.ts";
import { addNode, type FakeNode } from "./fake-nodes.ts";
import { type SchedulerCommand, startCommand } from "./scheduler-command.ts";

describe("nckubelet controller", { skip: skipUnless("control-plane"), timeout: 240_000 }, () => {
  let cluster: Cluster;
  let admin: KubeClient;
  let node: FakeNode;
  let kubeconfig = "";

  before(async () => {
    cluster = await startControlPlane();
    await installCRD(cluster);
    await cluster.kubectl(["wait", "--for=condition=established", "--timeout=30s", `crd/${setCrdName}`]);
    kubeconfig = await cluster.kubeconfigFor("nckubelet-scheduler");
    admin = await cluster.clientOf("admin");
    node = await addNode(admin, "node-a");
  });
  after(async () => {
    await node?.remove();
    await cluster?.stop();
  });

  const start = (command: "controller" | "scheduler", ...flags: string[]) =>
    startCommand(command, ["--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", ...flags]);
  const leads = (process: SchedulerCommand) =>
    process.log().includes(" leading identity=") && !process.log().includes(" not leading any more ");
  const identityOf = (process: SchedulerCommand) =>
    waitFor("its identity", () => /starting the \w+ .*identity=(\S+)/.exec(process.log())?.[1]);
  const holder = async (name = schedulerLease) => {
    const path = resourcePath(leases, { namespace: systemNamespace, name });
    return (await admin.request<Lease>({ path })).spec?.holderIdentity;
  };
  /** Creates an app and waits until it is bound. */
  const isScheduled = async (name: string) => {
    await createApp(admin, name, { shellFile: "/bin/true" });
    await waitFor(`${name} is bound`, async () => {
      const { spec } = await admin.request<NCApp>({ path: ncappPath("default", name) });
      return spec.nodeName === "node-a";
    }, 60_000);
  };
  /** Creates a set, or changes its template, and waits until its app on the node has it. */
  const isRolledOut = async (method: "POST" | "PATCH", cpuPCT: string) => {
    const labels = { app: "fleet" };
    const template = { metadata: { labels }, spec: { shellFile: "/bin/true", cpuPCT } };
    const spec = { selector: { matchLabels: labels }, template };
    const path = resourcePath(ncappsets, {
      namespace: "default",
      ...(method === "PATCH" ? { name: "fleet" } : {}),
    });
    await admin.request({
      method,
      path,
      body: { apiVersion, kind: setKind, metadata: { name: "fleet" }, spec },
    });
    await waitFor(`the app of the set has ${cpuPCT}`, async () => {
      const app = await admin.request<NCApp>({ path: ncappPath("default", "fleet-node-a") }).catch(() =>
        undefined
      );
      return app?.spec.cpuPCT === cpuPCT;
    }, 60_000);
  };
  const status = async (process: SchedulerCommand) => {
    const url = await waitFor("its address", () => /serving address=(http:\S+)/.exec(process.log())?.[1]);
    return await (await fetch(`${url}/status`)).json() as { leading: boolean; controllers: string[] };
  };

  test("of two processes one leads; when it is killed with SIGKILL the other takes over", async () => {
    await using one = start("controller");
    await waitFor("the first leads", () => leads(one));
    await using two = start("controller");
    await waitFor("the second stands by", () => two.log().includes(" standing by leader="));
    assert.deepEqual([(await status(one)).leading, (await status(two)).leading], [true, false]);
    // What approves certificates has an account of its own.
    assert.deepEqual((await status(two)).controllers, ["scheduler", "sets"]);
    assert.equal(await holder(), await identityOf(one));
    await isScheduled("first");
    await isRolledOut("POST", "5");
    assert.equal(await holder(setsLease), await identityOf(one));

    await one.kill();
    for (const name of [schedulerLease, setsLease]) {
      await endLease(admin, { namespace: systemNamespace, name });
    }
    await isScheduled("second");
    await isRolledOut("PATCH", "6");
    assert.equal(await holder(), await identityOf(two));
    assert.equal(await holder(setsLease), await identityOf(two));
    assert.equal((await status(two)).leading, true);
  });

  test("an old scheduler and a controller never both lead", async () => {
    await using old = start("scheduler");
    await waitFor("the scheduler leads", () => leads(old), 60_000);
    assert.deepEqual((await status(old)).controllers, ["scheduler"]);
    await using controller = start("controller");
    const waits = await waitFor("the controller waits", () => / standing by .*/.exec(controller.log())?.[0]);
    assert.ok(waits.includes(await identityOf(old)), waits);
    assert.equal(leads(controller), false);
    await old[Symbol.asyncDispose]();
    await waitFor("the controller leads", () => leads(controller));
    await isScheduled("third");
  });
});

/** The scheduler on a real API server, with the rights of crd/rbac.yaml. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { group } from "../../src/api/names.ts";
import type { NCApp, NCAppSpec, NCAppStatus } from "../../src/api/types.ts";
import { runCommandLine } from "../../src/cli/command-line.ts";
import { pluginCommands } from "../../src/cli/plugin/plugin.ts";
import { commands } from "../../src/cli/commands/commands.ts";
import { loadAccess } from "../../src/kube/access/access.ts";
import type { KubeClient, RequestReport } from "../../src/kube/client/client.ts";
import { listAll } from "../../src/kube/watch/watch.ts";
import {
  events,
  leases,
  limitRanges,
  ncappPath,
  ncapps,
  priorityClasses,
  resourcePath,
  resourceQuotas,
} from "../../src/kube/resources.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { createSchedulerClient } from "../../src/scheduler/client.ts";
import { runController, type RunOptions } from "../../src/controller/controller.ts";
import { call } from "../cli/call.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { createApp } from "../harness/create-app.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { waitFor } from "../wait-for.ts";
import { addNode, type FakeNode, type FakeNodeOptions } from "./fake-nodes.ts";
import { watchMoves } from "./watch-moves.ts";

interface KubeEvent {
  metadata?: { name?: string };
  reason: string;
  message: string;
  involvedObject: { kind: string; name: string };
}

describe(
  "the scheduler on a real API server",
  { skip: skipUnless("control-plane"), timeout: 240_000 },
  () => {
    let cluster: Cluster;
    let admin: KubeClient;
    let kubeconfig = "";
    const nodes: FakeNode[] = [];
    const running: { stop: () => Promise<void> }[] = [];

    before(async () => {
      cluster = await startControlPlane();
      // Without the policies: here the scheduler is what refuses caps out of the bounds of a LimitRange.
      await installCRD(cluster, { only: ["ncapp.yaml", "rbac.yaml"] });
      kubeconfig = await cluster.kubeconfigFor("nckubelet-scheduler");
      admin = await cluster.clientOf("admin", { maxInFlight: 32 });
      for (const [name, value] of [["low", 1], ["high", 1000]] as const) {
        await create(resourcePath(priorityClasses), {
          apiVersion: "scheduling.k8s.io/v1",
          kind: "PriorityClass",
          metadata: { name },
          value,
        });
      }
    });
    after(() => cluster?.stop());
    afterEach(async () => {
      await Promise.all(running.splice(0).map(({ stop }) => stop()));
      await Promise.all(nodes.splice(0).map((node) => node.remove()));
      for (
        const path of [
          ncappPath("default"),
          resourcePath(limitRanges, { namespace: "default" }),
          resourcePath(resourceQuotas, { namespace: "default" }),
        ]
      ) {
        await admin.request({ method: "DELETE", path });
      }
      const { items } = await listAll<NCApp>(admin, { resource: ncapps });
      for (const { metadata: { name } } of items) {
        const body = { metadata: { finalizers: null } };
        await admin.request({ method: "PATCH", path: ncappPath("default", name), body });
      }
    });

    const create = <T>(path: string, body: object) => admin.request<T>({ method: "POST", path, body });
    const add = async (name: string, options?: FakeNodeOptions) => {
      const node = await addNode(admin, name, options);
      nodes.push(node);
      return node;
    };
    const addApp = (name: string, spec: NCAppSpec = {}) =>
      createApp(admin, name, { shellFile: "/bin/true", ...spec });
    const get = (name: string) => admin.request<NCApp>({ path: ncappPath("default", name) });
    /** Deletes an app, and reports as its agent that it has stopped. */
    const remove = async (name: string) => {
      const path = ncappPath("default", name);
      const { metadata } = await admin.request<NCApp>({ method: "DELETE", path });
      await setStatus(name, { nodeName: "", observedGeneration: metadata.generation });
    };
    const setStatus = (name: string, status: NCAppStatus) =>
      admin.request({ method: "PATCH", path: ncappPath("default", name, "status"), body: { status } });
    const reach = (name: string, what: string, isThere: (app: NCApp) => boolean, timeoutMs?: number) =>
      waitFor(`${name}: ${what}`, async () => {
        const app = await get(name);
        return isThere(app) ? app : undefined;
      }, timeoutMs);
    const bound = (name: string) => reach(name, "bound", ({ spec }) => Boolean(spec.nodeName));
    const isGone = (name: string) =>
      waitFor(`${name} is gone`, async () => {
        const { items } = await listAll<NCApp>(admin, { resource: ncapps });
        return !items.some(({ metadata }) => metadata.name === name);
      });
    const eventOf = (name: string, reason: string) =>
      waitFor(`${name}: event ${reason}`, async () => {
        const { items } = await admin.request<{ items: KubeEvent[] }>({ path: resourcePath(events) });
        return items.find((event) => event.involvedObject.name === name && event.reason === reason);
      });

    /** Runs a scheduler in this process, as the user that has the RBAC roles. */
    const start = async (options: Partial<RunOptions> = {}) => {
      const reports: RequestReport[] = [];
      const client = createSchedulerClient(await loadAccess({ kubeconfig }), {
        version: "test",
        onRequest: (report) => reports.push(report),
      });
      const stopping = new AbortController();
      const done = runController({
        names: ["scheduler"],
        client,
        log: silentLogger,
        version: "test",
        identity: `test-${running.length}`,
        schedulerName: "nc-scheduler",
        policy: "spread",
        leaderElect: false,
        tickMs: 200,
        ...options,
      }, stopping.signal);
      let ended = false;
      const stop = async () => {
        if (ended) return;
        ended = true;
        stopping.abort();
        await done;
        client.close();
      };
      running.push({ stop });
      return { stop, reports };
    };

    const followMoves = async () => {
      const moves = await watchMoves(admin);
      running.push(moves);
      return moves;
    };

    const createApps = async (count: number, spec: NCAppSpec = {}) => {
      let next = 0;
      await Promise.all(Array.from({ length: 16 }, async () => {
        while (next < count) await addApp(`many-${next++}`, spec);
      }));
    };

    const trickleApps = async (from: number, to: number, ms: number) => {
      const startedAt = Date.now();
      for (let next = from; next < to; next++) {
        await pause(Math.max(0, startedAt + ms * (next - from) / (to - from) - Date.now()));
        await addApp(`many-${next}`);
      }
    };

    test("apps spread over the nodes that have agents, with status and events", async () => {
      for (const name of ["node-a", "node-b"]) await add(name);
      await create(
        resourcePath({ group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false }),
        {
          apiVersion: "v1",
          kind: "Node",
          metadata: { name: "no-agent" },
        },
      );
      await start();
      const names = ["one", "two", "three", "four"];
      for (const name of names) await addApp(name, { cpuPCT: "20" });
      await addApp("foreign", { schedulerName: "other" });
      await addApp("by-hand", { nodeName: "no-agent" });
      const apps = await Promise.all(names.map((name) => bound(name)));
      const places = apps.map(({ spec }) => spec.nodeName).sort();
      assert.deepEqual(places, ["node-a", "node-a", "node-b", "node-b"]);
      const { message } = await eventOf("one", "Scheduled");
      assert.match(message, /^Successfully assigned default\/one to node-[ab]$/);
      const told = await reach(
        "one",
        "Scheduled is True",
        ({ status }) => status?.conditions?.[0]?.status === "True",
      );
      assert.equal(told.status?.conditions?.[0]?.type, "Scheduled");
      assert.equal((await get("foreign")).spec.nodeName, undefined);
      assert.equal((await get("by-hand")).spec.nodeName, "no-agent");
      await admin.request({ method: "DELETE", path: "/api/v1/nodes/no-agent" });
    });

    test("an app that fits nowhere reports why, and is bound as soon as there is room, without a storm of retries", async (context) => {
      await add("node-a", { reservedPCT: 10 });
      const { reports } = await start();
      await addApp("big", { cpuPCT: "70" });
      await bound("big");
      await createApps(20, { cpuPCT: "40" });
      const { message } = await eventOf("many-7", "FailedScheduling");
      assert.equal(message, "0/1 nodes are available: 1 cpuPCT (need 40, at most 20 free)");
      const refused = await reach(
        "many-7",
        "Scheduled is False",
        ({ status }) => status?.conditions?.[0]?.status === "False",
      );
      assert.deepEqual([refused.status?.phase, refused.status?.reason, refused.status?.message], [
        "Pending",
        "Unschedulable",
        message,
      ]);
      await waitFor("all are told", async () => {
        const { items } = await listAll<NCApp>(admin, { resource: ncapps });
        return items.filter(({ status }) => status?.reason === "Unschedulable").length === 20;
      });
      await waitFor("all events are there", async () => {
        const { items } = await admin.request<{ items: KubeEvent[] }>({ path: resourcePath(events) });
        return items.filter(({ message: said }) => said === message).length === 20;
      });
      // The report of the bound app comes last, and the client sees the answer to a write after the watch has shown it.
      await eventOf("big", "Scheduled");
      await waitFor(
        "its requests have ended",
        () => reports.filter(({ verb, resource }) => verb === "create" && resource === "events").length >= 21,
      );
      /** All requests except reads and watches. */
      const takeWrites = () =>
        reports.splice(0).filter(({ verb }) => !["get", "list", "watch"].includes(verb))
          .map(({ verb, resource }) => `${verb} ${resource}`);
      const count = (writes: string[], what: string) => writes.filter((write) => write === what).length;
      const refusals = takeWrites();
      assert.equal(count(refusals, "patch ncapps"), 1, "nobody but the one that fits was bound");
      // One each for the 20 that wait and the one that is bound.
      assert.ok(count(refusals, "patch ncapps/status") <= 21, refusals.join());
      assert.ok(count(refusals, "create events") <= 21, refusals.join());
      const freedAt = Date.now();
      await remove("big");
      const winners = await waitFor("room is taken", async () => {
        const { items } = await listAll<NCApp>(admin, { resource: ncapps });
        const placed = items.filter(({ metadata, spec }) => spec.nodeName && metadata.name !== "big");
        return placed.length === 2 ? placed : undefined;
      });
      const tookMs = Date.now() - freedAt;
      assert.equal(winners.length, 2);
      for (const { metadata } of winners) await eventOf(metadata.name, "Scheduled");
      const writes = takeWrites();
      context.diagnostic(
        `bound ${tookMs} ms after the deletion was asked for, by these requests: ${writes.join()}`,
      );
      assert.equal(count(writes, "patch ncapps"), 3, "two binds and a finalizer: nobody else was tried");
      // A bind, a status and an event each, and one or two late requests: far fewer than one for each of the 18 that still wait.
      assert.ok(writes.length <= 9, writes.join());
    });

    test("two schedulers without an election bind no app twice", async () => {
      for (const name of ["node-a", "node-b", "node-c"]) await add(name);
      const { places, moved } = await followMoves();
      const schedulers = await Promise.all([start(), start()]);
      await createApps(250);
      await waitFor("all are bound", () => places.size === 250);
      assert.deepEqual(moved, []);
      const conflicts = schedulers.flatMap(({ reports }) => reports)
        .filter(({ verb, resource, code }) => verb === "patch" && resource === "ncapps" && code === 409);
      assert.ok(conflicts.length > 0, "they never met, so this has shown nothing");
    });

    test("a suspended leader that resumes binds no app that its successor has bound", async (context) => {
      const { apps, stopMs, election } = stopRun;
      for (const name of ["node-a", "node-b"]) await add(name);
      const first = await startProcess(kubeconfig, "first", election);
      running.push(first);
      await waitFor("the first leads", () => first.log().includes("leading identity=first"));
      const second = await startProcess(kubeconfig, "second", election);
      running.push(second);
      const { places, moved } = await followMoves();
      // Some at once, so that it is stopped in the middle of its binds; the others follow one by one until it resumes.
      const burst = Math.ceil(apps / 2);
      const bursting = createApps(burst);
      await waitFor("some are bound", () => places.size >= 5);
      first.signal("SIGSTOP");
      const stoppedAt = Date.now();
      await bursting;
      const trickling = trickleApps(burst, apps, Math.max(stopMs, 3000) * 1.2);
      await waitFor("the second leads", () => second.log().includes("leading identity=second"));
      await waitFor("the second binds", () => places.size > burst);
      await pause(Math.max(0, stoppedAt + stopMs - Date.now()));
      first.signal("SIGCONT");
      context.diagnostic(
        `stopped for ${Date.now() - stoppedAt} ms, ${places.size} of ${apps} bound meanwhile`,
      );
      await waitFor("the first notices", () => first.log().includes("not leading any more"));
      await trickling;
      await waitFor("all are bound", () => places.size === apps);
      assert.deepEqual(moved, []);
    });

    test("a leader that ends releases the Lease, and the next one takes over at once", async () => {
      await add("node-a");
      const election = { retryMs: 300 };
      const { stop } = await start({ leaderElect: true, identity: "first", election });
      const holder = () =>
        admin.request<{ spec: { holderIdentity?: string } }>({
          path: resourcePath(leases, { namespace: "nckubelet", name: "nc-scheduler" }),
        })
          .then(({ spec }) => spec.holderIdentity, () => undefined);
      await waitFor("the first leads", async () => await holder() === "first");
      await start({ leaderElect: true, identity: "second", election });
      await addApp("before");
      await bound("before");
      await stop();
      // Its 15 s are not over: it gave the Lease back, and the other may have taken it by now.
      assert.notEqual(await holder(), "first");
      await addApp("after");
      await bound("after");
      assert.equal(await holder(), "second");
    });

    test("a higher priority preempts a lower one, which waits until it fits again", async () => {
      await add("node-a");
      await start();
      await addApp("low", { cpuPCT: "80", priorityClassName: "low", terminationGracePeriodSeconds: 1 });
      await bound("low");
      await setStatus("low", { phase: "Running", ready: true, pid: 4711 });
      await addApp("rival", { cpuPCT: "80", priorityClassName: "low" });
      await eventOf("rival", "FailedScheduling");
      await addApp("vip", { cpuPCT: "50", priorityClassName: "high" });
      const nominated = await reach(
        "vip",
        "nominated",
        ({ status, spec }) => Boolean(status?.nominatedNodeName || spec.nodeName),
      );
      assert.equal(nominated.status?.nominatedNodeName, "node-a");
      assert.equal((await bound("vip")).spec.nodeName, "node-a");
      assert.equal((await eventOf("low", "Preempted")).message, "Preempted by default/vip on node node-a");
      const low = await reach(
        "low",
        "Pending",
        ({ status, spec }) => !spec.nodeName && status?.phase === "Pending",
      );
      assert.deepEqual([low.status?.ready, low.status?.pid], [false, undefined]);
      await remove("vip");
      const next = await waitFor("one of the low ones is bound", async () => {
        const apps = await Promise.all([get("low"), get("rival")]);
        return apps.find(({ spec }) => spec.nodeName);
      });
      assert.equal(next.metadata.name, "low", "the older of the two");
    });

    test("apps of a lost node are Unknown, then placed elsewhere or deleted; those that tolerate it stay until its agent is gone", async () => {
      const lost = await add("node-a", { leaseSeconds: 2 });
      await start({ defaultTolerationMs: 1500 });
      const unreachable = {
        key: "node.kubernetes.io/unreachable",
        operator: "Exists",
        effect: "NoExecute",
      } as const;
      await addApp("moves");
      await addApp("stays", { tolerations: [unreachable] });
      await addApp("goes");
      for (const name of ["moves", "stays", "goes"]) {
        await bound(name);
        await setStatus(name, { phase: "Running", ready: true, restarts: 0, nodeName: "node-a" });
      }
      await add("node-b");
      await lost.die();
      const deleteApp = (name: string) =>
        admin.request({ method: "DELETE", path: ncappPath("default", name) });
      await deleteApp("goes");
      const unknown = await reach("moves", "Unknown", ({ status }) => status?.phase === "Unknown");
      assert.deepEqual([unknown.spec.nodeName, unknown.status?.reason, unknown.status?.ready], [
        "node-a",
        "NodeLost",
        false,
      ]);
      await reach("moves", "bound to node-b", ({ spec }) => spec.nodeName === "node-b");
      await reach("moves", "released", ({ status }) => status?.nodeName === "");
      await isGone("goes");
      assert.match((await eventOf("moves", "NodeLost")).message, /node-a has not reported/);
      const stays = await reach("stays", "Unknown", ({ status }) => status?.phase === "Unknown");
      assert.equal(stays.spec.nodeName, "node-a");
      await deleteApp("stays");
      assert.equal((await get("stays")).metadata.finalizers?.length, 1);
      await lost.remove();
      await isGone("stays");
    });

    test("if more than half of the nodes are lost, apps stay bound, and an event reports it", async () => {
      const lost = await Promise.all(["node-a", "node-b"].map((name) => add(name, { leaseSeconds: 2 })));
      await start({ defaultTolerationMs: 500 });
      await addApp("web");
      const { spec } = await bound("web");
      await add("node-c");
      await Promise.all(lost.map((node) => node.die()));
      const { message } = await eventOf("nckubelet", "EvictionsPaused");
      assert.match(message, /^2 of 3 nodes are lost/);
      await reach("web", "Unknown", ({ status }) => status?.phase === "Unknown");
      assert.equal((await get("web")).spec.nodeName, spec.nodeName);
    });

    test("LimitRange and ResourceQuota: a bind writes defaults, used stays right, and what exceeds them is refused", async () => {
      await add("node-a");
      const key = (share: string) => `${group}/${share}`;
      await create(resourcePath(limitRanges, { namespace: "default" }), {
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "team" },
        spec: {
          limits: [{
            type: `${group}/NCApp`,
            default: { [key("cpuPCT")]: "12.5" },
            max: { [key("cpuPCT")]: "40" },
          }],
        },
      });
      await create(resourcePath(resourceQuotas, { namespace: "default" }), {
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "team" },
        spec: { hard: { [key("cpuPCT")]: "50" } },
      });
      await start();
      await addApp("plain");
      const plain = await bound("plain");
      assert.deepEqual([plain.spec.cpuPCT, plain.metadata.generation], ["12.5", 2], "both in one write");
      await addApp("huge", { cpuPCT: "41" });
      assert.match(
        (await eventOf("huge", "FailedScheduling")).message,
        /the maximum cpuPCT per NCApp is 40, but it requests 41/,
      );
      await addApp("more", { cpuPCT: "40" });
      assert.match(
        (await eventOf("more", "FailedScheduling")).message,
        /exceeded quota: team, requested: cpuPCT=40, used: cpuPCT=12.5/,
      );
      await waitFor("used is told", async () => {
        const path = resourcePath(resourceQuotas, { namespace: "default", name: "team" });
        const { status } = await admin.request<{ status?: { used?: Record<string, string> } }>({ path });
        return status?.used?.[key("cpuPCT")] === "13";
      });
      await addApp("pinned", { cpuPCT: "45", nodeName: "node-a" });
      assert.match(
        (await eventOf("pinned", "LimitRangeBypassed")).message,
        /but it requests 45; it was bound/,
      );
      assert.match(
        (await eventOf("pinned", "QuotaBypassed")).message,
        /used: cpuPCT=12.5, limited: cpuPCT=50;/,
      );
      await cluster.kubectl([
        "wait",
        "--for=condition=WithinNamespaceRules=False",
        "ncapp/pinned",
        "--timeout=30s",
      ]);
      await remove("pinned");
      await remove("plain");
      await bound("more");
    });

    test("kubectl ncapp drain moves what the scheduler bound, and leaves what others pinned unless forced", async () => {
      for (const name of ["node-a", "node-b"]) await add(name);
      await start();
      for (const name of ["one", "two"]) {
        await addApp(name, { cpuPCT: "20", terminationGracePeriodSeconds: 0 });
      }
      const places = await Promise.all(["one", "two"].map(async (name) => (await bound(name)).spec.nodeName));
      assert.deepEqual(places.toSorted(), ["node-a", "node-b"]);
      await addApp("pinned", { nodeName: "node-a" });
      const drain = (...words: string[]) =>
        call(["drain", "node-a", "--timeout", "30s", "--kubeconfig", cluster.kubeconfig, ...words], {
          table: pluginCommands,
          program: "kubectl ncapp",
        }).done;
      const refused = await drain();
      assert.deepEqual([refused.code, refused.stdout], [1, "node/node-a cordoned\n"]);
      assert.match(
        refused.stderr,
        /pinned to it: default\/pinned \(spec.nodeName was set by [^)]+\); use --force/,
      );
      await remove("pinned");
      await isGone("pinned");
      const drained = await drain();
      const moved = `default/${places[0] === "node-a" ? "one" : "two"}`;
      assert.deepEqual(drained, {
        code: 0,
        stdout:
          `node/node-a already cordoned\nevicting ncapp ${moved}\nncapp ${moved} evicted\nnode/node-a drained\n`,
        stderr: "",
      });
      // Without an agent it counts as stopped after its grace period. The cordoned node has more room, but is not chosen.
      for (const name of ["one", "two"]) {
        await reach(name, "is on node-b", ({ spec }) => spec.nodeName === "node-b", 60_000);
      }
    });

    test("--explain prints why each node fits an app or not", async () => {
      await add("node-a");
      await add("node-b", { taints: [{ key: "gpu", effect: "NoSchedule" }] });
      await addApp("web", { cpuPCT: "30" });
      let text = "";
      const io = {
        stdout: (part: string) => void (text += part),
        stderr: (part: string) => void (text += part),
        env: {},
        columns: 0,
        signal: new AbortController().signal,
      };
      const args = ["scheduler", "--kubeconfig", kubeconfig, "--explain", "default/web"];
      const code = await runCommandLine(args, commands, io);
      assert.equal(code, 0, text);
      assert.match(
        text,
        /^default\/web: cpuPCT 30, memPCT no cap, priority 0\nit would be bound to node node-a\n/,
      );
      assert.match(text, /^node-a +yes +\d+\.\d/m);
      assert.match(text, /^node-b +no .*untolerated taint \{gpu: \}$/m);
      assert.equal(
        await runCommandLine(["scheduler", "--kubeconfig", kubeconfig, "--explain", "none"], commands, io),
        1,
      );
      assert.match(text, /NCApp default\/none not found/);
    });
  },
);

/**
 * How the stopped leader is tried: in each run of the tests for as long as it takes to lose the Lease, and with
 * NCKUBELET_TEST_STOP_SECONDS=30 for that long, at the usual times of the election and with a thousand apps.
 */
const stopSeconds = Number(process.env.NCKUBELET_TEST_STOP_SECONDS ?? 0);
const stopRun = stopSeconds > 0
  ? { apps: 1000, stopMs: stopSeconds * 1000, election: "usual" }
  : { apps: 100, stopMs: 0, election: "quick" };

interface SchedulerProcess {
  log(): string;
  signal(name: NodeJS.Signals): void;
  stop(): Promise<void>;
}

async function startProcess(
  kubeconfig: string,
  identity: string,
  election: string,
): Promise<SchedulerProcess> {
  const script = join(import.meta.dirname!, "scheduler-process.ts");
  const child: ChildProcess = spawn(process.execPath, [script, kubeconfig, identity, election], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk) => text += chunk);
  return {
    log: () => text,
    signal: (name) => void child.kill(name),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Jobs on a real API server with real controllers; the agents are hollow, and count the runs that they start. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pluginCommands } from "../../src/cli/plugin/plugin.ts";
import { call } from "../cli/call.ts";
import type { Cluster } from "../harness/cluster.ts";
import type { Behave } from "../hollow/hollow-runs.ts";
import { waitFor } from "../wait-for.ts";
import { type SetsUser, startSets } from "./running-sets.ts";
import { startSchedulerCommand } from "./scheduler-command.ts";

export interface JobScene {
  cluster: Cluster;
  user: SetsUser;
  kubeconfig: string;
  nodes: readonly string[];
  /** Ends the sets controller that all tests share, and starts another. */
  stopSets(): Promise<void>;
  startSets(): Promise<void>;
}

/** How often each app was started, and how many of each set ran at the same time. */
const starts = new Map<string, number>();
const live = new Map<string, number>();
const most = new Map<string, number>();
/** Nodes on which jobs fail. */
const broken = new Set<string>();

/** What the scripts of jobs do; undefined for other apps. */
export const behaveAsJob: (app: Parameters<Behave>[0]) => ReturnType<Behave> | undefined = (app) => {
  const { shellFile = "", nodeName = "" } = app.spec;
  if (!shellFile.startsWith("/job/")) return undefined;
  const { name, labels = {} } = app.metadata as { name: string; labels?: Record<string, string> };
  starts.set(name, (starts.get(name) ?? 0) + 1);
  if (shellFile === "/job/slow.sh") return {};
  const set = labels.app ?? "";
  const count = (change: number) => live.set(set, (live.get(set) ?? 0) + change).get(set)!;
  most.set(set, Math.max(most.get(set) ?? 0, count(1)));
  const afterMs = 100;
  setTimeout(() => count(-1), afterMs);
  return { exit: { code: broken.has(nodeName) ? 1 : 0, afterMs } };
};

export function testJobs(shared: () => JobScene): void {
  const create = (name: string, job: object, app: object = {}) =>
    shared().user.create(name, { job }, {
      shellFile: "/job/ok.sh",
      restartPolicy: "Never",
      backoffSeconds: 0,
      ...app,
    });
  const isTrue = async (name: string, type: string) =>
    (await shared().user.condition(name, type)).status === "True";
  const ended = (name: string, type: "Complete" | "Failed") =>
    waitFor(`${name} is ${type}`, () => isTrue(name, type), 120_000);
  const startsOf = (set: string) =>
    Object.fromEntries([...starts].filter(([name]) => name.startsWith(`${set}-`)).sort());
  const rollout = (...words: string[]) =>
    call(["rollout", ...words], {
      table: pluginCommands,
      program: "kubectl ncapp",
      env: { KUBECONFIG: shared().cluster.kubeconfig },
    }).done;
  const remove = async (name: string) => {
    await shared().cluster.kubectl(["delete", "ncappset", name, "--wait=false"]);
    await waitFor(
      `the apps of ${name} are gone`,
      async () => (await shared().user.apps(name)).length === 0,
      90_000,
    );
  };

  test("a job runs once on every node, no more at a time than it may; kubectl wait and rollout status see its end", async () => {
    const { cluster, nodes } = shared();
    await create("once", { parallelism: 3 });
    const waiting = cluster.kubectl(["wait", "--for=condition=complete", "--timeout=120s", "ncappset/once"]);
    const { code, stdout } = await rollout("status", "once", "--timeout", "120s");
    assert.equal(code, 0, stdout);
    assert.match(
      stdout,
      /set default\/once: complete: 8 of 8 apps have completed, 0 are active, 0 failed\n$/,
    );
    assert.match((await waiting).stdout, /condition met/);
    assert.deepEqual(startsOf("once"), Object.fromEntries(nodes.map((node) => [`once-${node}`, 1])));
    assert.ok(most.get("once")! <= 3, `${most.get("once")} ran at the same time`);
    const { status } = await shared().user.get("once");
    assert.deepEqual(
      [status?.desired, status?.succeeded, status?.active, status?.failed, status?.completedIndexes],
      [8, 8, 0, 0, nodes.join()],
    );
    await remove("once");
  });

  test("failed nodes are listed once, and a retry runs only there", async (t) => {
    const { nodes } = shared();
    broken.add("hollow-2").add("hollow-5");
    t.after(() => broken.clear());
    await create("partly", { parallelism: 4, backoffLimitPerIndex: 1 });
    const { code, stdout } = await rollout("status", "partly", "--timeout", "120s");
    assert.equal(code, 1, stdout);
    for (const node of broken) {
      const line = `\n  default/partly-${node} on ${node}: Failed: Error\n`;
      assert.equal(stdout.split(line).length, 2, stdout);
    }
    assert.match(
      stdout,
      /\nset default\/partly: failed: 2 of 8 apps failed \(backoffLimitPerIndex is 1\): 6 of 8 apps have completed/,
    );
    assert.equal(await isTrue("partly", "Failed"), true);
    broken.clear();
    assert.equal((await rollout("retry", "partly")).code, 0);
    assert.equal((await rollout("status", "partly", "--timeout", "120s")).code, 0);
    assert.deepEqual(
      startsOf("partly"),
      Object.fromEntries(
        nodes.map((node) => [`partly-${node}`, node === "hollow-2" || node === "hollow-5" ? 3 : 1]),
      ),
    );
    await remove("partly");
  });

  test("a number of apps completes wherever there is room; after its time the set is gone", async () => {
    const { user, kubeconfig } = shared();
    await using _scheduler = await startSchedulerCommand(["--kubeconfig", kubeconfig]);
    await create("many", { completions: 12, parallelism: 4, ttlSecondsAfterFinished: 5 });
    await ended("many", "Complete");
    assert.equal((await user.get("many")).status?.completedIndexes, "0-11");
    assert.deepEqual(Object.values(startsOf("many")), Array(12).fill(1));
    await waitFor(
      "the job is deleted with its apps",
      async () => (await user.apps("many")).length === 0 && !(await user.get("many").catch(() => undefined)),
      60_000,
    );
  });

  test("the controller is killed after every single write, and nothing runs twice or too often", async () => {
    const { user, kubeconfig, nodes, stopSets } = shared();
    await stopSets();
    await create("struck", { parallelism: 2 });
    let kills = 0;
    for (let isDone = false; !isDone && kills < 200;) {
      const wrote = Promise.withResolvers<void>();
      const victim = await startSets({
        kubeconfig,
        onWrite({ path }) {
          if (path.includes("/events")) return;
          wrote.resolve();
          throw new Error("killed");
        },
      });
      const finished = ended("struck", "Complete").then(() => "done" as const, () => "done" as const);
      isDone = await Promise.race([wrote.promise.then(() => "wrote" as const), finished]) === "done";
      await victim.kill();
      if (!isDone) kills++;
    }
    assert.ok(kills > nodes.length, `it was killed ${kills} times`);
    assert.deepEqual(startsOf("struck"), Object.fromEntries(nodes.map((node) => [`struck-${node}`, 1])));
    assert.ok(most.get("struck")! <= 2, `${most.get("struck")} ran at the same time`);
    assert.equal((await user.get("struck")).status?.succeeded, nodes.length);
    await shared().startSets();
    await remove("struck");
  });

  test("a suspended job stops its apps; only then can its template be changed; then they run again with that", async (t) => {
    const { user, cluster } = shared();
    await create("held", { parallelism: 2 }, { shellFile: "/job/slow.sh" });
    const phases = async () => (await user.apps("held")).map(({ status }) => status?.phase).sort();
    await waitFor("two apps run", async () => (await phases()).join() === "Running,Running");
    if (cluster.has("selectable-fields")) {
      await assert.rejects(
        user.change("held", { shellFile: "/job/ok.sh" }),
        /cannot be changed while the job is not suspended/,
      );
      await assert.rejects(user.patch("held", { job: { completions: 3 } }), /completions.*cannot be changed/);
      await assert.rejects(user.patch("held", { job: null }), /job cannot be added or removed/);
    } else t.diagnostic("the server has no CEL rules");
    assert.equal((await rollout("pause", "held")).code, 0);
    await waitFor("both have stopped", async () => (await phases()).join() === "Stopped,Stopped");
    assert.equal((await user.condition("held", "Suspended")).status, "True");
    await user.change("held", { shellFile: "/job/ok.sh" });
    assert.equal((await rollout("resume", "held")).code, 0);
    await ended("held", "Complete");
    assert.equal(Object.values(startsOf("held")).filter((count) => count === 2).length, 2);
    assert.equal((await user.apps("held")).every(({ spec }) => spec.shellFile === "/job/ok.sh"), true);
    await remove("held");
  });

  test("a job that takes too long fails, and what it runs is stopped", async () => {
    const { user } = shared();
    await create("late", { parallelism: 8, activeDeadlineSeconds: 3 }, { shellFile: "/job/slow.sh" });
    await ended("late", "Failed");
    assert.equal((await user.condition("late", "Failed")).reason, "DeadlineExceeded");
    await waitFor("its apps have stopped", async () =>
      (await user.get("late")).status?.active === 0 &&
      (await user.apps("late")).every(({ status }) => status?.phase === "Stopped"));
    await remove("late");
  });
}

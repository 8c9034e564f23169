/** Jobs: sets whose apps run to completion. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../src/api/names.ts";
import type { NCAppSetSpec } from "../../../src/api/types.ts";
import { readRunNote } from "../../../src/api/run-note.ts";
import { kstatus } from "../../kstatus.ts";
import { SimulatedJob } from "./simulated-job.ts";

type Job = NonNullable<NCAppSetSpec["job"]>;

/** Everyone acts once. */
function turn(cluster: SimulatedJob): void {
  cluster.reconcile();
  if (!cluster.set.metadata.deletionTimestamp) cluster.bind();
  for (const name of new Set([...cluster.apps.keys(), ...cluster.view.keys()])) {
    cluster.agentStep(name);
    cluster.see(name);
  }
}
function turns(cluster: SimulatedJob, rounds = 30, seconds = 1): void {
  for (let round = 0; round < rounds; round++) {
    turn(cluster);
    cluster.now += seconds * 1000;
  }
}
const conditionOf = ({ set }: SimulatedJob, type: string) =>
  set.status?.conditions?.find((condition) => condition.type === type);
const isTrue = (cluster: SimulatedJob, type: string) => conditionOf(cluster, type)?.status === "True";
const countsOf = ({ set: { status = {} } }: SimulatedJob) => {
  const { desired, active, succeeded, failed, completedIndexes } = status;
  return { desired, active, succeeded, failed, completedIndexes };
};
const startsOf = (cluster: SimulatedJob) =>
  Object.fromEntries([...cluster.tally].map(([name, { starts }]) => [name, starts]).sort());

test("a job completes as many apps as it says, as many at a time as it may, and each once", () => {
  const cluster = new SimulatedJob({ completions: 7, parallelism: 3 });
  let most = 0;
  cluster.onProcess = () => most = Math.max(most, cluster.live.length);
  turns(cluster);
  assert.equal(most, 3);
  assert.deepEqual(Object.values(startsOf(cluster)), Array(7).fill(1));
  assert.deepEqual(countsOf(cluster), {
    desired: 7,
    active: 0,
    succeeded: 7,
    failed: 0,
    completedIndexes: "0-6",
  });
  const { status, reason, observedGeneration, message } = conditionOf(cluster, "Complete")!;
  assert.deepEqual({ status, reason, observedGeneration, message }, {
    ...{ status: "True", reason: "CompletionsReached", observedGeneration: 1 },
    message: "all 7 apps have completed",
  });
  assert.deepEqual(["Failed", "Suspended", "Stalled"].map((type) => isTrue(cluster, type)), [
    false,
    false,
    false,
  ]);
  assert.deepEqual(cluster.plan().actions, []);
  assert.deepEqual(cluster.plan().status, cluster.set.status);
});

test("without completions it runs once on every node that the template chooses, also on one that joins or returns", () => {
  const cluster = new SimulatedJob({ parallelism: 2 }, { nodes: 4 });
  cluster.changeNode("n1", { agent: "lost" });
  cluster.changeNode("n2", { cordoned: true });
  cluster.changeNode("n3", { taints: [{ key: "gpu", effect: "NoSchedule" }] });
  cluster.join("foreign"), cluster.changeNode("foreign", { agent: "none" });
  turns(cluster);
  assert.deepEqual(startsOf(cluster), { "web-n0": 1 });
  assert.equal(isTrue(cluster, "Complete"), false);
  assert.match(
    conditionOf(cluster, "Progressing")!.message!,
    /^1 of 3 apps have completed.*waits for nodes: n1 is lost, n2 is cordoned$/,
  );
  cluster.changeNode("n1", { agent: "fresh" });
  cluster.changeNode("n2", { cordoned: false });
  cluster.join("n9");
  turns(cluster);
  assert.deepEqual(startsOf(cluster), { "web-n0": 1, "web-n1": 1, "web-n2": 1, "web-n9": 1 });
  assert.equal(cluster.set.status?.completedIndexes, "n0,n1,n2,n9");
  assert.ok(isTrue(cluster, "Complete"));
  cluster.join("late");
  turns(cluster);
  assert.equal(cluster.tally.has("web-late"), false);
});

test("a job that no node matches is not complete", () => {
  const cluster = new SimulatedJob({}, { nodeSelector: { zone: "lab" } });
  turns(cluster);
  assert.equal(isTrue(cluster, "Complete"), false);
  assert.match(conditionOf(cluster, "Progressing")!.message!, /^no node matches the placement rules/);
  cluster.changeNode("n1", { labels: { zone: "lab" } });
  turns(cluster);
  assert.ok(isTrue(cluster, "Complete"));
});

test("a failed run is repeated after waits that grow, until the job has failed more often than backoffLimit", () => {
  const cluster = new SimulatedJob({ completions: 1, backoffLimit: 2 });
  cluster.outcome = () => "fail";
  const started: number[] = [];
  const first = cluster.now;
  cluster.onProcess = (name) => {
    if (cluster.tallyOf(name).starts > started.length) started.push((cluster.now - first) / 1000);
  };
  turns(cluster, 100);
  assert.deepEqual(
    started.slice(1).map((at, before) => at - started[before]!).map((wait) =>
      wait >= 20 ? 2 : wait >= 10 ? 1 : 0
    ),
    [1, 2],
  );
  assert.equal(cluster.tallyOf("web-0").failures, 3);
  const { status, reason, message } = conditionOf(cluster, "Failed")!;
  assert.deepEqual({ status, reason, message }, {
    ...{ status: "True", reason: "BackoffLimitExceeded", message: "3 runs have failed (backoffLimit is 2)" },
  });
  assert.match(conditionOf(cluster, "Stalled")!.message!, /: web-0 on node n\d \(Failed\)$/);
});

test("backoffLimit is 6 by default, and what runs elsewhere is stopped when the job fails", () => {
  const cluster = new SimulatedJob({ completions: 4, parallelism: 4 }, { backoffSeconds: 0 });
  cluster.outcome = (name) => name === "web-1" ? "fail" : "run";
  turns(cluster, 60);
  assert.ok(isTrue(cluster, "Failed"));
  assert.equal(cluster.tallyOf("web-1").failures, 7);
  assert.deepEqual(cluster.live, []);
  assert.equal(cluster.set.status?.active, 0);
});

test("with backoffLimitPerIndex the other apps go on, and the job fails at the end with the failed ones in its message", () => {
  const cluster = new SimulatedJob({ backoffLimitPerIndex: 1 }, { nodes: 12, backoffSeconds: 0 });
  cluster.outcome = (name) => name === "web-n1" || name === "web-n5" ? "fail" : "complete";
  turns(cluster, 80);
  assert.deepEqual([cluster.tallyOf("web-n1").failures, cluster.tallyOf("web-n5").failures], [2, 2]);
  assert.equal(cluster.set.status?.succeeded, 10);
  assert.equal(conditionOf(cluster, "Failed")?.reason, "FailedIndexes");
  assert.match(
    conditionOf(cluster, "Progressing")!.message!,
    /^2 of 12 apps failed .*: web-n1 on node n1 \(Failed\), web-n5 on node n5 \(Failed\)$/,
  );
});

test("a retry runs only what has not completed, and forgets the failures before it", () => {
  const cluster = new SimulatedJob({ backoffLimitPerIndex: 0, parallelism: 4 }, { nodes: 4 });
  cluster.outcome = (name) => name === "web-n2" ? "fail" : "complete";
  turns(cluster);
  assert.ok(isTrue(cluster, "Failed"));
  cluster.outcome = () => "complete";
  turns(cluster);
  assert.deepEqual(startsOf(cluster), { "web-n0": 1, "web-n1": 1, "web-n2": 1, "web-n3": 1 });
  cluster.retry("once more");
  const { status, events } = cluster.plan();
  assert.deepEqual(events.map(({ reason }) => reason), ["Retried"]);
  assert.deepEqual(status.conditions?.map(({ type, status }) => type + status), [
    ...["ProgressingTrue", "CompleteFalse", "FailedFalse", "SuspendedFalse", "StalledFalse", "ReadyFalse"],
    "ReconcilingTrue",
  ]);
  turns(cluster);
  assert.deepEqual(startsOf(cluster), { "web-n0": 1, "web-n1": 1, "web-n2": 2, "web-n3": 1 });
  assert.ok(isTrue(cluster, "Complete"));
});

test("after a retry an app may fail as often as before, and no more", () => {
  const cluster = new SimulatedJob({ completions: 2, backoffLimitPerIndex: 1 }, { backoffSeconds: 0 });
  cluster.outcome = (name) => name === "web-0" ? "fail" : "complete";
  for (const [token, failures] of [["", 2], ["1", 4], ["2", 6]] as const) {
    if (token) cluster.retry(token);
    turns(cluster, 40);
    assert.equal(conditionOf(cluster, "Failed")?.reason, "FailedIndexes");
    assert.equal(cluster.tallyOf("web-0").failures, failures);
  }
  assert.equal(cluster.tallyOf("web-1").starts, 1);
  const total = new SimulatedJob({ completions: 1, backoffLimit: 1 }, { backoffSeconds: 0 });
  total.outcome = () => "fail";
  for (const [token, failures] of [["", 2], ["1", 4]] as const) {
    if (token) total.retry(token);
    turns(total, 40);
    assert.equal(conditionOf(total, "Failed")?.reason, "BackoffLimitExceeded");
    assert.equal(total.tallyOf("web-0").failures, failures);
  }
});

test("an app that was moved off a lost node counts as active until that node lets it go", () => {
  const cluster = new SimulatedJob({ completions: 2 }, { nodes: 2 });
  cluster.outcome = () => "run";
  turns(cluster, 4);
  const { nodeName, ...spec } = cluster.apps.get("web-0")!.spec;
  cluster.changeNode(nodeName!, { agent: "lost" });
  cluster.change("web-0", spec);
  cluster.editJob({ suspend: true });
  const look = () => {
    cluster.see("web-0");
    cluster.reconcile();
    return cluster.set.status?.active;
  };
  assert.deepEqual([look(), look()], [1, 1]);
  cluster.bind();
  cluster.agentStep("web-0");
  assert.equal(cluster.apps.get("web-0")?.status?.reason, "StillStopping");
  assert.equal(look(), 1);
  cluster.changeNode(nodeName!, { agent: "fresh" });
  for (let step = 0; step < 3; step++) cluster.agentStep("web-0");
  assert.equal(look(), 0);
});

test("with OnFailure the agent repeats a run, and its restarts count", () => {
  const cluster = new SimulatedJob({ completions: 2, parallelism: 2, backoffLimit: 3 }, {
    restartPolicy: "OnFailure",
  });
  cluster.outcome = (name) => name === "web-0" ? "fail" : "complete";
  turns(cluster);
  assert.equal(conditionOf(cluster, "Failed")?.reason, "BackoffLimitExceeded");
  assert.equal(cluster.apps.get("web-0")?.status?.phase, "Stopped");
  const { failures } = cluster.tallyOf("web-0");
  assert.ok(failures >= 4 && failures <= 6, `${failures} failures`);
  // The agent counts restarts for as long as it has the app: those before the retry do not count again.
  const pinned = new SimulatedJob({ backoffLimit: 3 }, { nodes: 1, restartPolicy: "OnFailure" });
  pinned.outcome = () => "fail";
  turns(pinned);
  assert.ok(isTrue(pinned, "Failed"));
  const before = pinned.tallyOf("web-n0").failures;
  pinned.retry("2");
  pinned.outcome = () => pinned.tallyOf("web-n0").failures < before + 2 ? "fail" : "complete";
  turns(pinned);
  assert.ok(isTrue(pinned, "Complete"));
});

test("a numbered app that failed is placed again; one of a node stays there", () => {
  for (const job of [{ completions: 1 }, {}]) {
    const cluster = new SimulatedJob(job, { nodes: 1, backoffSeconds: 0 });
    cluster.outcome = () => "fail";
    const isNoted = () => cluster.own.some((app) => readRunNote(app).failedAt !== undefined);
    for (let round = 0; round < 20 && !isNoted(); round++) turn(cluster);
    const [update] = cluster.plan().actions;
    assert.ok(update?.kind === "run");
    const { spec } = update.patch as { spec: { nodeName?: string | null; suspend?: boolean } };
    assert.deepEqual([spec.suspend, spec.nodeName], [false, "completions" in job ? null : "n0"]);
  }
});

test("an app whose node repels it or has lost its label is stopped, and runs again when the node takes it", () => {
  for (const change of [{ taints: [{ key: "a", effect: "NoExecute" }] }, { labels: {} }]) {
    const cluster = new SimulatedJob({ parallelism: 2 }, { nodes: 2, nodeSelector: { zone: "lab" } });
    const fit = { labels: { zone: "lab" }, taints: [] };
    for (const name of ["n0", "n1"]) cluster.changeNode(name, fit);
    cluster.outcome = () => "run";
    turns(cluster, 4);
    cluster.changeNode("n0", change);
    turns(cluster, 4);
    assert.deepEqual(cluster.live, ["web-n1"]);
    assert.deepEqual([cluster.apps.has("web-n0"), cluster.set.status?.desired], [true, 1]);
    cluster.changeNode("n0", fit);
    cluster.outcome = () => "complete";
    turns(cluster, 10);
    assert.deepEqual([isTrue(cluster, "Complete"), cluster.set.status?.succeeded], [true, 2]);
  }
});

test("a suspended job stops what runs and starts nothing; when it is resumed, that runs again and its time starts anew", () => {
  const cluster = new SimulatedJob({ completions: 3, parallelism: 2, activeDeadlineSeconds: 100 });
  cluster.outcome = () => "run";
  turns(cluster, 5);
  assert.equal(cluster.live.length, 2);
  cluster.editJob({ suspend: true });
  turns(cluster, 3);
  assert.deepEqual(cluster.live, []);
  assert.equal(cluster.set.status?.startTime, undefined);
  assert.deepEqual([conditionOf(cluster, "Suspended")?.status, conditionOf(cluster, "Progressing")?.reason], [
    "True",
    "Suspended",
  ]);
  turns(cluster, 20, 10);
  assert.equal(isTrue(cluster, "Failed"), false);
  cluster.editJob({ suspend: false });
  cluster.outcome = () => "complete";
  turns(cluster, 20);
  assert.ok(isTrue(cluster, "Complete"));
  assert.deepEqual(startsOf(cluster), { "web-0": 2, "web-1": 2, "web-2": 1 });
});

test("a template that was changed while the job was suspended runs where nothing has completed", () => {
  const cluster = new SimulatedJob({ completions: 2, parallelism: 2 });
  cluster.outcome = (name) => name === "web-0" ? "complete" : "run";
  turns(cluster, 6);
  cluster.editJob({ suspend: true });
  turns(cluster, 3);
  cluster.editApp({ shellFile: "/opt/v2.sh" });
  cluster.editJob({ suspend: false });
  cluster.outcome = () => "complete";
  turns(cluster, 10);
  assert.ok(isTrue(cluster, "Complete"));
  assert.deepEqual(cluster.own.map(({ spec }) => spec.shellFile), ["/opt/job.sh", "/opt/v2.sh"]);
  assert.deepEqual(startsOf(cluster), { "web-0": 1, "web-1": 2 });
});

test("after activeDeadlineSeconds the job has failed, and its apps are stopped", () => {
  const cluster = new SimulatedJob({ completions: 2, parallelism: 2, activeDeadlineSeconds: 10 });
  cluster.outcome = () => "run";
  turns(cluster, 5);
  assert.equal(cluster.plan().checkAt, Date.parse(cluster.set.status!.startTime!) + 10_000);
  turns(cluster, 10);
  assert.equal(conditionOf(cluster, "Failed")?.reason, "DeadlineExceeded");
  assert.deepEqual(cluster.live, []);
});

test("ttlSecondsAfterFinished deletes the set after its end, and not before its apps have stopped", () => {
  const cluster = new SimulatedJob({
    completions: 1,
    ttlSecondsAfterFinished: 60,
    activeDeadlineSeconds: 30,
  });
  cluster.outcome = () => "run";
  turns(cluster, 5);
  const node = cluster.apps.get("web-0")!.spec.nodeName!;
  cluster.changeNode(node, { agent: "lost" });
  turns(cluster, 200);
  assert.ok(isTrue(cluster, "Failed"));
  assert.equal(cluster.set.metadata.deletionTimestamp, undefined);
  cluster.changeNode(node, { agent: "fresh" });
  turns(cluster, 5);
  assert.ok(cluster.set.metadata.deletionTimestamp);
});

test("a job whose status does not say when it ended is not deleted", () => {
  const cluster = new SimulatedJob({ completions: 0, ttlSecondsAfterFinished: 0 });
  cluster.reconcile();
  const end = (
    lastTransitionTime?: string,
  ) => [{ type: "Complete", status: "True" as const, lastTransitionTime }];
  const deletes = () => cluster.plan().actions.some(({ kind }) => kind === "deleteSet");
  cluster.set = { ...cluster.set, status: { conditions: end() } };
  assert.equal(deletes(), false);
  cluster.set = { ...cluster.set, status: { conditions: end(cluster.now10) } };
  assert.equal(deletes(), true);
});

test("an app that has completed does not run again when it is deleted, unbound, or forgotten by its agent", () => {
  const cluster = new SimulatedJob({ completions: 3 });
  cluster.outcome = (name) => name === "web-2" ? "run" : "complete";
  turns(cluster);
  assert.deepEqual(startsOf(cluster), { "web-0": 1, "web-1": 1, "web-2": 1 });
  cluster.deleteApp("web-0");
  cluster.change("web-1", { ...cluster.apps.get("web-1")!.spec, nodeName: undefined });
  cluster.forget("web-1");
  turns(cluster);
  assert.equal(cluster.apps.has("web-0"), false);
  assert.ok(readRunNote(cluster.apps.get("web-1")!).completedAt);
  assert.deepEqual(startsOf(cluster), { "web-0": 1, "web-1": 1, "web-2": 1 });
  cluster.outcome = () => "complete";
  turns(cluster);
  assert.deepEqual([isTrue(cluster, "Complete"), cluster.set.status?.succeeded], [true, 3]);
});

test("an app of a node that has completed does not come back when it is deleted", () => {
  const cluster = new SimulatedJob({ parallelism: 2 }, { nodes: 2 });
  cluster.outcome = (name) => name === "web-n1" ? "run" : "complete";
  turns(cluster, 10);
  cluster.deleteApp("web-n0");
  cluster.agentStep("web-n0"), cluster.see("web-n0");
  assert.equal(cluster.apps.has("web-n0"), false);
  turns(cluster, 10);
  assert.equal(cluster.apps.has("web-n0"), false);
  assert.deepEqual(startsOf(cluster), { "web-n0": 1, "web-n1": 1 });
});

test("an app that completed just before it was suspended counts, although its agent has not seen that", () => {
  const cluster = new SimulatedJob({}, { nodes: 1 });
  cluster.outcome = () => "run";
  turns(cluster, 3);
  cluster.outcome = () => "complete";
  cluster.agentStep("web-n0");
  cluster.changeNode("n0", { agent: "lost" });
  cluster.editJob({ suspend: true });
  cluster.reconcile();
  assert.equal(cluster.view.get("web-n0")?.spec.suspend, true);
  cluster.reconcile();
  assert.deepEqual([cluster.set.status?.completedIndexes, isTrue(cluster, "Complete")], ["n0", true]);
});

test("the failures of an app that runs during a retry are counted from then on", () => {
  const cluster = new SimulatedJob({ backoffLimitPerIndex: 2, parallelism: 2 }, {
    nodes: 1,
    restartPolicy: "OnFailure",
  });
  cluster.outcome = () => cluster.tallyOf("web-n0").failures < 2 ? "fail" : "run";
  turns(cluster, 12);
  assert.equal(cluster.live.length, 1);
  cluster.retry("1");
  turns(cluster, 3);
  cluster.outcome = () => "fail";
  turns(cluster, 30);
  assert.equal(conditionOf(cluster, "Failed")?.reason, "FailedIndexes");
  const { failures } = cluster.tallyOf("web-n0");
  assert.ok(failures >= 5 && failures <= 7, `${failures} failures`);
});

test("an app whose node is deleted goes with it, and the job ends without it", () => {
  const cluster = new SimulatedJob({ parallelism: 2 }, { nodes: 2 });
  cluster.outcome = () => "run";
  turns(cluster, 4);
  cluster.leave("n0");
  cluster.outcome = () => "complete";
  turns(cluster, 8);
  assert.deepEqual(cluster.own.map(({ metadata }) => metadata.name), ["web-n1"]);
  assert.deepEqual([isTrue(cluster, "Complete"), cluster.set.status?.desired], [true, 1]);
});

test("an app that waits at its agent counts as active until the agent has seen that it is suspended", () => {
  const cluster = new SimulatedJob({}, { nodes: 1 });
  cluster.reconcile(), cluster.reconcile();
  cluster.report("web-n0", { phase: "Pending", nodeName: "n0", observedGeneration: 1 });
  cluster.see("web-n0");
  cluster.editJob({ suspend: true });
  cluster.reconcile(), cluster.reconcile();
  assert.deepEqual([cluster.view.get("web-n0")?.spec.suspend, cluster.set.status?.active], [true, 1]);
  cluster.report("web-n0", { phase: "Pending", nodeName: "n0", observedGeneration: 2 });
  cluster.see("web-n0");
  cluster.reconcile();
  assert.equal(cluster.set.status?.active, 0);
});

test("an app on a lost node counts as active and stays there; when its node is gone for good, a numbered one runs elsewhere", () => {
  const cluster = new SimulatedJob({ completions: 2 }, { nodes: 2 });
  cluster.outcome = () => "run";
  turns(cluster, 4);
  const node = cluster.apps.get("web-0")!.spec.nodeName!;
  assert.deepEqual(cluster.apps.get("web-0")!.spec.tolerations, [{
    key: "app.example.com/unreachable",
    operator: "Exists",
  }]);
  cluster.changeNode(node, { agent: "lost" });
  cluster.outcome = () => "complete";
  turns(cluster, 50, 60);
  assert.deepEqual([cluster.set.status?.active, cluster.set.status?.succeeded], [1, 0]);
  cluster.leave(node);
  turns(cluster, 50);
  assert.ok(isTrue(cluster, "Complete"));
});

test("a template that says how long it tolerates a lost node is left as it is", () => {
  const tolerations = [{
    key: "app.example.com/unreachable",
    operator: "Exists" as const,
    tolerationSeconds: 60,
  }];
  const cluster = new SimulatedJob({ completions: 1 }, { tolerations });
  turns(cluster, 3);
  assert.deepEqual(cluster.apps.get("web-0")!.spec.tolerations, tolerations);
});

test("a node that is deleted and comes back does not run a completed app again", () => {
  const cluster = new SimulatedJob({}, { nodes: 2 });
  cluster.outcome = (name) => name === "web-n0" ? "complete" : "run";
  turns(cluster, 8);
  cluster.leave("n0");
  turns(cluster, 4);
  cluster.join("n0");
  turns(cluster, 4);
  cluster.outcome = () => "complete";
  turns(cluster, 8);
  assert.deepEqual(startsOf(cluster), { "web-n0": 1, "web-n1": 1 });
  assert.ok(isTrue(cluster, "Complete"));
});

test("an app of someone else with a wanted name is reported, and the others complete", () => {
  const cluster = new SimulatedJob({ completions: 3, parallelism: 3 });
  cluster.addForeign("web-1", { app: "other" });
  cluster.see("web-1");
  turns(cluster);
  assert.deepEqual(startsOf(cluster), { "web-0": 1, "web-2": 1 });
  const { reason, message } = conditionOf(cluster, "Progressing")!;
  assert.equal(reason, "NameCollision");
  assert.match(message!, /^other apps have the names web-1: 2 of 3 apps have completed/);
});

test("notes that someone has changed by hand neither break a plan nor count", () => {
  for (
    const text of [
      "",
      "{",
      "null",
      "[]",
      '{"failures":-1,"restarts":1e300,"failedAt":"x","completedAt":7,"retry":{}}',
    ]
  ) {
    const note = readRunNote({ metadata: { annotations: { [annotations.run]: text } } });
    assert.deepEqual(note, { failures: 0, restarts: 0, retry: "" });
  }
});

test("an app whose script cannot start is active, and named with the reason", () => {
  const cluster = new SimulatedJob({}, { nodes: 1 });
  cluster.outcome = () => "run";
  turns(cluster, 3);
  const { observedGeneration } = cluster.apps.get("web-n0")!.status!;
  cluster.report("web-n0", {
    phase: "Pending",
    reason: "ScriptNotFound",
    observedGeneration,
    nodeName: "n0",
  });
  cluster.see("web-n0");
  cluster.reconcile();
  assert.equal(
    conditionOf(cluster, "Progressing")?.message,
    "0 of 1 apps have completed, 1 is active, 0 failed; cannot start: web-n0 on node n0 (ScriptNotFound)",
  );
});

test("kstatus sees a job that runs as in progress, one that is complete or suspended as current, and one that failed as failed", () => {
  const cluster = new SimulatedJob({ completions: 2, backoffLimit: 0 });
  cluster.outcome = () => "run";
  turns(cluster, 4);
  const seen = [kstatus(cluster.set)];
  cluster.editJob({ suspend: true });
  turns(cluster, 3);
  seen.push(kstatus(cluster.set));
  cluster.editJob({ suspend: false });
  cluster.outcome = () => "fail";
  turns(cluster, 8);
  seen.push(kstatus(cluster.set));
  cluster.retry("1");
  cluster.outcome = () => "complete";
  turns(cluster, 20);
  seen.push(kstatus(cluster.set));
  assert.deepEqual(seen, ["InProgress", "Current", "Failed", "Current"]);
});

test("a long text that asks for a retry is not copied into every app", () => {
  const cluster = new SimulatedJob({ backoffLimit: 0 }, { nodes: 1 });
  cluster.outcome = () => "fail";
  turns(cluster, 8);
  cluster.retry("x".repeat(200_000));
  cluster.outcome = () => "complete";
  turns(cluster, 8);
  assert.ok(isTrue(cluster, "Complete"));
  assert.ok(JSON.stringify([cluster.set.status, cluster.own]).length < 10_000);
});

test("a job with the longest name that there is completes", () => {
  const cluster = new SimulatedJob({ completions: 3, parallelism: 3 });
  cluster.set = { ...cluster.set, metadata: { ...cluster.set.metadata, name: "j".repeat(253) } };
  turns(cluster, 8);
  assert.deepEqual([isTrue(cluster, "Complete"), cluster.set.status?.completedIndexes], [true, "0-2"]);
  assert.deepEqual(Object.values(startsOf(cluster)), [1, 1, 1]);
});

test("a job of no completions is complete at once, and parallelism 0 starts none", () => {
  const none = new SimulatedJob({ completions: 0 });
  turns(none, 3);
  assert.ok(isTrue(none, "Complete"));
  const held = new SimulatedJob({ completions: 2, parallelism: 0 } satisfies Job);
  turns(held, 3);
  assert.deepEqual([held.apps.size, isTrue(held, "Complete")], [0, false]);
});

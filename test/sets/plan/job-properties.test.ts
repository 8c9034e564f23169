/**
 * What holds of a job in every cluster, whatever happens: random worlds in which apps fail, nodes are lost, leave and return, agents
 * forget what they do not run, users delete, unbind, suspend and retry, and a controller sees late and is killed between any two writes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { setAnnotations } from "../../../src/api/names.ts";
import type { NCAppSetSpec } from "../../../src/api/types.ts";
import { maxChanges } from "../../../src/sets/plan/slots.ts";
import { runs } from "../../properties.ts";
import { type Outcome, SimulatedJob } from "./simulated-job.ts";

const limit = { timeout: 300_000 };

type Step =
  | { do: "reconcile"; writes: number }
  | { do: "agent" | "see" | "deleteApp" | "unbind" | "forget"; app: number }
  | { do: "agents" | "seeAll" | "restart" | "bind" | "retry" }
  | { do: "join" | "leave" | "lose" | "return" | "cordon" | "evict"; node: number }
  | { do: "outcome"; app: number; outcome: Outcome }
  | { do: "suspend"; suspend: boolean }
  | { do: "grow" }
  | { do: "wait"; seconds: number };

const at = fc.nat(7);
const act = <K extends Step["do"]>(...kinds: K[]) => fc.constantFrom(...kinds);
const common: fc.Arbitrary<Step>[] = [
  fc.record({ do: act("reconcile"), writes: fc.constantFrom(99, 99, 99, 0, 1, 2, 3) }),
  fc.record({ do: act("agent", "see"), app: at }),
  fc.record({ do: act("agents", "seeAll", "restart", "bind") }),
  fc.record({
    do: act("outcome"),
    app: at,
    outcome: fc.constantFrom<Outcome>("complete", "complete", "fail", "run"),
  }),
  fc.record({ do: act("wait"), seconds: fc.constantFrom(1, 30, 400) }),
];
const rare: fc.Arbitrary<Step>[] = [
  fc.record({ do: act("join", "leave", "lose", "return", "cordon", "evict"), node: at }),
  fc.record({ do: act("deleteApp", "unbind", "forget"), app: at }),
  fc.record({ do: act("suspend"), suspend: fc.boolean() }),
  fc.record({ do: act("retry", "grow") }),
];
const job = fc.record({
  completions: fc.constantFrom(undefined, 1, 4, 6),
  parallelism: fc.constantFrom(1, 2, 3),
  backoffLimit: fc.constantFrom(undefined, undefined, 0, 2),
  backoffLimitPerIndex: fc.constantFrom(undefined, undefined, 0, 1),
  activeDeadlineSeconds: fc.constantFrom(undefined, undefined, undefined, 500),
}).map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));
const world = fc.record({
  job: job as fc.Arbitrary<NonNullable<NCAppSetSpec["job"]>>,
  nodes: fc.integer({ min: 1, max: 5 }),
  restartPolicy: fc.constantFrom("Never" as const, "OnFailure" as const),
  steps: fc.array(fc.oneof(...common, ...common, ...rare), { maxLength: 80, size: "max" }),
});

/** Checks every process that starts and ends. */
function watched(given: { job: NCAppSetSpec["job"]; nodes: number; restartPolicy: "Never" | "OnFailure" }) {
  const { job = {}, nodes, restartPolicy } = given;
  const cluster = new SimulatedJob(job, { nodes, restartPolicy, backoffSeconds: 0 });
  const outcomes = new Map<string, Outcome>();
  cluster.outcome = (name) => outcomes.get(name) ?? "complete";
  const startsAtCompletion = new Map<string, number>();
  cluster.onProcess = (name) => {
    const { live } = cluster;
    assert.ok(live.length <= cluster.set.spec.job!.parallelism!, `${live.join()} live at the same time`);
    assert.equal(new Set(live).size, live.length, `${live.join()}: one app lives twice`);
    const { starts, completions } = cluster.tallyOf(name);
    assert.ok(completions <= 1, `${name} completed ${completions} times`);
    if (completions === 0) return;
    assert.equal(starts, startsAtCompletion.get(name) ?? starts, `${name} ran again after it had completed`);
    startsAtCompletion.set(name, starts);
  };
  return { cluster, outcomes };
}

function perform({ cluster, outcomes }: ReturnType<typeof watched>, step: Step): void {
  const names = cluster.own.map(({ metadata }) => metadata.name).sort();
  const name = "app" in step ? names[step.app] ?? "" : "";
  const node = "node" in step ? `n${step.node}` : "";
  const app = cluster.apps.get(name);
  switch (step.do) {
    case "reconcile": {
      const planned = cluster.plan();
      assert.ok(planned.actions.length <= 3 * maxChanges);
      const touched = planned.actions.flatMap((action) =>
        action.kind === "create" ? action.app.name : "app" in action ? action.app.metadata.name : []
      );
      assert.equal(new Set(touched).size, touched.length, "a plan changes an app once");
      cluster.reconcile(step.writes, planned);
      if (step.writes < 99) cluster.restartController();
      return;
    }
    case "agent":
      return cluster.agentStep(name);
    case "see":
      return cluster.see(name);
    case "agents":
      return names.forEach((name) => cluster.agentStep(name));
    case "seeAll":
      return [...cluster.apps.keys(), ...cluster.view.keys()].forEach((name) => cluster.see(name));
    case "restart":
      return cluster.restartController();
    case "bind":
      return cluster.bind();
    case "deleteApp":
      // A completion that no controller has seen is deleted with its app.
      return isCounted(cluster, name) ? cluster.deleteApp(name) : undefined;
    case "unbind":
      return app && isCounted(cluster, name)
        ? cluster.change(name, { ...app.spec, nodeName: undefined })
        : undefined;
    case "forget":
      return app?.spec.suspend && app.status?.observedGeneration === app.metadata.generation
        ? cluster.forget(name)
        : undefined;
    case "join":
      return cluster.nodes.has(node) ? undefined : cluster.join(node);
    case "leave":
      // Nor does a new agent of that name know what the one before it has completed.
      return names.every((name) => isCounted(cluster, name)) ? cluster.leave(node) : undefined;
    case "lose":
      return cluster.changeNode(node, { agent: "lost" });
    case "return":
      return cluster.changeNode(node, { agent: "fresh", cordoned: false, taints: [] });
    case "cordon":
      return cluster.changeNode(node, { cordoned: true });
    case "evict":
      return cluster.changeNode(node, { taints: [{ key: "a", effect: "NoExecute" }] });
    case "outcome":
      return void outcomes.set(name, step.outcome);
    case "suspend":
      return cluster.editJob({ suspend: step.suspend });
    case "retry":
      return cluster.retry(`${Number(cluster.set.metadata.annotations?.[setAnnotations.retry] ?? 0) + 1}`);
    case "grow":
      return cluster.editJob({ parallelism: cluster.set.spec.job!.parallelism! + 1 });
    case "wait":
      cluster.now += step.seconds * 1000;
      return;
  }
}

/** Reports whether the controller knows what became of the app: it is unfinished, or its completion is in the status. */
function isCounted({ tally, set }: SimulatedJob, name: string): boolean {
  const index = name.slice(set.metadata.name.length + 1);
  const known = (set.status?.completedIndexes ?? "").split(",").flatMap((range) => {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
    return first === undefined
      ? range
      : Array.from({ length: +last! - +first + 1 }, (_, at) => `${+first + at}`);
  });
  return (tally.get(name)?.completions ?? 0) === 0 || known.includes(index);
}

test(
  "no app of a job runs twice for one completion, no more than parallelism run, and everything settles",
  limit,
  () => {
    fc.assert(
      fc.property(world, ({ steps, ...given }) => {
        const scene = watched(given);
        const { cluster, outcomes } = scene;
        for (const step of steps) perform(scene, step);
        // The world becomes quiet: every node is back, every run completes, and what failed is retried.
        for (const [name] of cluster.nodes) perform(scene, { do: "return", node: Number(name.slice(1)) });
        if (cluster.nodes.size === 0) cluster.join("n0");
        outcomes.clear();
        cluster.editJob({ suspend: false });
        for (let round = 0; round < 160; round++) {
          // A failure that the controller has not seen yet is one of the time after the retry.
          if (round === 5) perform(scene, { do: "retry" });
          for (const kind of ["seeAll", "bind", "agents", "seeAll"] as const) perform(scene, { do: kind });
          perform(scene, { do: "reconcile", writes: 99 });
          perform(scene, { do: "wait", seconds: 3 });
        }
        const { status = {} } = cluster.set;
        const { completions } = given.job;
        const isComplete = status.conditions?.some(({ type, status }) =>
          type === "Complete" && status === "True"
        );
        assert.ok(isComplete, JSON.stringify(status));
        assert.equal(cluster.completions, status.succeeded);
        if (completions !== undefined) assert.equal(cluster.completions, completions);
        else assert.ok(cluster.completions >= 1);
        assert.deepEqual(cluster.live, []);
        assert.deepEqual(cluster.plan().actions, []);
        assert.deepEqual(cluster.plan().status, status);
      }),
      runs(200),
    );
  },
);

test(
  "a job that fails stops after its limits: no more failures than they allow and can be under way",
  limit,
  () => {
    const calm = [...common.slice(0, 3), ...common.slice(4)];
    const calmWorld = fc.record({
      job: job as fc.Arbitrary<NonNullable<NCAppSetSpec["job"]>>,
      nodes: fc.integer({ min: 1, max: 5 }),
      steps: fc.array(fc.oneof(...calm), { maxLength: 120, size: "max" }),
    });
    fc.assert(
      fc.property(calmWorld, ({ steps, ...given }) => {
        const scene = watched({ ...given, restartPolicy: "Never" });
        const { cluster } = scene;
        cluster.outcome = () => "fail";
        for (const step of steps) perform(scene, step);
        const { parallelism = 1, backoffLimitPerIndex, backoffLimit } = given.job;
        const total = backoffLimit ?? (backoffLimitPerIndex === undefined ? 6 : Infinity);
        const failures = [...cluster.tally.values()].map(({ failures }) => failures);
        const sum = failures.reduce((sum, next) => sum + next, 0);
        assert.ok(
          sum <= total + parallelism,
          `${sum} failures, backoffLimit ${total}, parallelism ${parallelism}`,
        );
        for (const count of failures) {
          assert.ok(count <= (backoffLimitPerIndex ?? Infinity) + 1, `${count} failures`);
        }
      }),
      runs(100),
    );
  },
);

test("whatever the numbers of a job are, a plan changes at most some hundred apps and asks for as many", () => {
  const number = fc.oneof(
    fc.nat(20),
    fc.constantFrom(10_000, 2 ** 31 - 1, 2 ** 53, 1e300),
  );
  const numbers = fc.record({
    completions: fc.option(number, { nil: undefined }),
    parallelism: number,
    backoffLimit: number,
    backoffLimitPerIndex: fc.option(number, { nil: undefined }),
    activeDeadlineSeconds: number,
    ttlSecondsAfterFinished: number,
  });
  const status = fc.record({
    completedIndexes: fc.oneof(fc.string(), fc.constantFrom("0-9007199254740991", "1-3,2-5", "n0,,n1")),
    startTime: fc.oneof(fc.string(), fc.constant("2020-01-01T00:00:00Z")),
    retry: fc.string(),
    conditions: fc.array(fc.record({ type: fc.constant("Complete"), status: fc.constant("True" as const) })),
  });
  fc.assert(
    fc.property(numbers, status, (job, status) => {
      const cluster = new SimulatedJob({}, { nodes: 3 });
      cluster.reconcile();
      cluster.set = { ...cluster.set, spec: { ...cluster.set.spec, job }, status };
      for (let pass = 0; pass < 3; pass++) {
        const kinds = Map.groupBy(cluster.reconcile().actions, ({ kind }) => kind);
        for (const [kind, these] of kinds) assert.ok(these.length <= maxChanges, kind);
      }
    }),
    runs(100),
  );
});

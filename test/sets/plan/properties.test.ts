/**
 * What holds in every cluster, whatever happens: random worlds with nodes that join, leave, are lost, cordoned and tainted, specs that
 * change, apps that fail and hang, users that delete, and a controller that sees late and is killed between any two writes.
 *
 * A failure prints the seed and the shortest list of steps that shows it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { setLabels } from "../../../src/api/names.ts";
import type { NCAppSetSpec } from "../../../src/api/types.ts";
import { healthOf } from "../../../src/sets/plan/health.ts";
import { isOwn } from "../../../src/sets/plan/plan.ts";
import type { Action, App } from "../../../src/sets/types.ts";
import { runs } from "../../properties.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";

const limit = { timeout: 300_000 };

type Step =
  | { do: "reconcile"; writes: number }
  | { do: "agent" | "see" | "restartApp" | "deleteApp"; app: number }
  | { do: "agents" | "seeAll" | "restart" | "promote" }
  | { do: "join" | "leave" | "lose" | "return" | "cordon" | "taint" | "label"; node: number }
  | { do: "script"; script: string }
  | { do: "scale"; replicas: number }
  | { do: "bind" }
  | { do: "cap"; cap: number }
  | { do: "override"; cap: number }
  | { do: "wait"; seconds: number }
  | { do: "foreign"; node: number }
  | { do: "pause"; paused: boolean };

const at = fc.nat(7);
const act = <K extends Step["do"]>(...kinds: K[]) => fc.constantFrom(...kinds);
const common: fc.Arbitrary<Step>[] = [
  fc.record({ do: act("reconcile"), writes: fc.constantFrom(99, 99, 99, 0, 1, 2, 3) }),
  fc.record({ do: act("reconcile"), writes: fc.constant(99) }),
  fc.record({ do: act("agent", "see"), app: at }),
  fc.record({ do: act("agents", "seeAll", "restart") }),
  fc.record({ do: act("script"), script: fc.constantFrom("v1", "v2", "v3", "bad", "bad2", "hung") }),
  fc.record({ do: act("cap"), cap: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: act("wait"), seconds: fc.constantFrom(1, 5, 30, 100) }),
];
const rare: fc.Arbitrary<Step>[] = [
  fc.record({ do: act("join", "leave", "lose", "return", "cordon", "taint", "label"), node: at }),
  fc.record({ do: act("deleteApp", "restartApp"), app: at }),
  fc.record({ do: act("promote") }),
  fc.record({ do: act("override"), cap: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: act("foreign"), node: fc.integer({ min: 8, max: 10 }) }),
  fc.record({ do: act("pause"), paused: fc.boolean() }),
];
const update = fc.record({
  maxUnavailable: fc.constantFrom<number | string>(1, 2, 3, "25%", "50%"),
  maxFailed: fc.constantFrom(1, 1, 2, 3),
  onFailure: fc.constantFrom("Pause" as const, "Rollback" as const),
  partition: fc.constantFrom(0, 0, 0, 2),
  canary: fc.constantFrom(undefined, undefined, { count: 1 }, { count: 2, autoPromote: true }, {
    nodeSelector: { zone: "lab" },
    autoPromote: true,
  }),
});
const spec = fc.record({ update, minReadySeconds: fc.constantFrom(0, 0, 10) }).map(withoutUndefinedCanary);

function withoutUndefinedCanary({ update: { canary, ...rest }, ...fields }: {
  update: { canary?: object };
  minReadySeconds: number;
}): Partial<NCAppSetSpec> {
  return { ...fields, progressDeadlineSeconds: 60, update: canary ? { ...rest, canary } : rest };
}

/** Watches what the controller does to apps that were available. */
class Watchman {
  /** Apps that a rollout made unavailable and that have not been available since, with their uid. */
  readonly hit = new Map<string, string>();
  /** The apps that each script reached by an update. */
  readonly reached = new Map<string, Set<string>>();
  readonly cluster: SimulatedCluster;

  constructor(cluster: SimulatedCluster) {
    this.cluster = cluster;
  }

  forgetRecovered(): void {
    for (const [name, uid] of this.hit) {
      const app = this.cluster.apps.get(name);
      if (app?.metadata.uid !== uid || this.cluster.isAvailable(app) || this.cluster.isLost(app)) {
        this.hit.delete(name);
      }
    }
  }

  /** Checks the writes of one plan, before they happen; returns what to check after them. */
  check(actions: readonly Action[]): () => void {
    const { cluster } = this;
    this.forgetRecovered();
    const taken: App[] = [];
    for (const action of actions) {
      if (action.kind === "update" || action.kind === "delete") {
        assert.ok(isOwn(action.app, cluster.set.metadata.uid), "changes only its own");
        const isRollout = action.kind === "update" || action.why.startsWith("the new revision");
        const app = cluster.apps.get(action.app.metadata.name);
        if (isRollout && app && cluster.isAvailable(app)) taken.push(app);
      }
    }
    const versions = new Map(taken.map((app) => [app.metadata.name, app.metadata.resourceVersion]));
    return () => {
      for (const app of taken) {
        const { name, uid } = app.metadata;
        // The write was refused: the controller had not seen the newest version.
        if (cluster.apps.get(name)?.metadata.resourceVersion !== versions.get(name)) this.hit.set(name, uid);
      }
      const done = cluster.log.splice(0);
      for (const action of done) {
        if (action.kind !== "update") continue;
        const script = cluster.apps.get(action.app.metadata.name)?.spec.shellFile ?? "";
        const names = this.reached.get(script) ?? new Set();
        this.reached.set(script, names.add(action.app.metadata.name));
      }
      this.forgetRecovered();
      if (taken.length > 0) this.#checkBudget();
    };
  }

  #checkBudget(): void {
    const { cluster } = this;
    const { maxUnavailable = 1, maxFailed = 1 } = cluster.set.spec.update ?? {};
    const apps = cluster.own.filter((app) => !cluster.isLost(app)).length;
    const budget = typeof maxUnavailable === "number"
      ? maxUnavailable
      : Math.max(1, Math.floor(apps * Number.parseInt(maxUnavailable) / 100));
    assert.ok(
      this.hit.size <= budget + maxFailed - 1,
      `${this.hit.size} unavailable, the budget is ${budget}`,
    );
  }
}

function perform(cluster: SimulatedCluster, watchman: Watchman, step: Step): void {
  const name = "app" in step ? cluster.own.map(({ metadata }) => metadata.name).sort()[step.app] ?? "" : "";
  const node = "node" in step ? `n${step.node}` : "";
  switch (step.do) {
    case "reconcile": {
      const planned = cluster.plan();
      const checkAfter = watchman.check(planned.actions);
      cluster.reconcile(step.writes, planned);
      checkAfter();
      if (step.writes < 99) cluster.restartController();
      return;
    }
    case "agent":
      return cluster.agentStep(name);
    case "see":
      return cluster.see(name);
    case "agents":
      return [...cluster.apps.keys()].forEach((name) => cluster.agentStep(name));
    case "seeAll":
      return [...cluster.apps.keys(), ...cluster.view.keys()].forEach((name) => cluster.see(name));
    case "restart":
      return cluster.restartController();
    case "restartApp":
      return void cluster.running.delete(name);
    case "deleteApp":
      return cluster.deleteApp(name);
    case "promote":
      return cluster.promote();
    case "join":
      return cluster.nodes.has(node) ? undefined : cluster.join(node);
    case "leave":
      return cluster.leave(node);
    case "lose":
      return cluster.changeNode(node, { agent: "lost" });
    case "return":
      return cluster.changeNode(node, { agent: "fresh" });
    case "cordon":
      return cluster.changeNode(node, { cordoned: true });
    case "taint":
      return cluster.changeNode(node, { taints: [{ key: "a", effect: "NoExecute" }] });
    case "label":
      return cluster.changeNode(node, { labels: { zone: "lab" } });
    case "script":
      return cluster.editApp({ shellFile: `/opt/${step.script}.sh` });
    case "scale":
      return cluster.edit((spec) => ({ ...spec, replicas: step.replicas }));
    case "bind":
      return cluster.bind();
    case "cap":
      return cluster.editApp({ cpuPCT: step.cap });
    case "override": {
      const overrides = [{
        nodeSelector: { zone: "lab" },
        patch: { spec: { memPCT: step.cap, args: [`${step.cap}`] } },
      }];
      return cluster.edit((spec) => ({ ...spec, overrides }));
    }
    case "wait":
      cluster.now += step.seconds * 1000;
      return;
    case "foreign":
      return cluster.addForeign(`web-${node}`, { app: "web" });
    case "pause":
      return cluster.edit((spec) => ({ ...spec, paused: step.paused }));
  }
}

function started(
  spec: Partial<NCAppSetSpec>,
  nodes: number,
): { cluster: SimulatedCluster; watchman: Watchman } {
  const cluster = new SimulatedCluster({ nodes, spec });
  cluster.settle();
  cluster.log = [];
  return { cluster, watchman: new Watchman(cluster) };
}

/** Lets everything happen for so many rounds, or until nothing has changed for longer than any time in the specs. */
function letHappen(
  { cluster, watchman }: ReturnType<typeof started>,
  rounds: number,
  seconds: number,
  then = () => {},
): void {
  let before = "";
  for (let round = 0, still = 0; round < rounds && still < 100; round++) {
    perform(cluster, watchman, { do: "reconcile", writes: 99 });
    perform(cluster, watchman, { do: "agents" });
    perform(cluster, watchman, { do: "seeAll" });
    perform(cluster, watchman, { do: "wait", seconds });
    then();
    const apps = [...cluster.apps.values()];
    const states = apps.map(({ metadata: { name, generation }, status }) => [name, generation, status]);
    const now = JSON.stringify([cluster.set, states]);
    still = now === before ? still + seconds : 0;
    before = now;
  }
}

const world = (steps: fc.Arbitrary<Step>[], maxLength = 60) =>
  fc.tuple(spec, fc.integer({ min: 2, max: 8 }), fc.array(fc.oneof(...steps), { maxLength, size: "max" }));

test("the budget is never exceeded, only own apps are changed, and everything settles", limit, () => {
  fc.assert(
    fc.property(world([...common, ...common, ...rare]), ([spec, nodes, steps]) => {
      const scene = started(spec, nodes);
      const { cluster, watchman } = scene;
      for (const step of steps) perform(cluster, watchman, step);
      // The world becomes quiet: every node is back, and the script is a good one.
      for (const [name] of cluster.nodes) {
        cluster.changeNode(name, { agent: "fresh", cordoned: false, taints: [] });
      }
      cluster.edit((spec) => ({ ...spec, paused: false }));
      cluster.editApp({ shellFile: "/opt/last.sh" });
      const foreign = [...cluster.apps.values()].filter((app) => !isOwn(app, cluster.set.metadata.uid));
      letHappen(scene, 20, 15);
      letHappen(scene, 80, 15, () => cluster.promote());
      const partition = cluster.set.spec.update?.partition ?? 0;
      const old = cluster.own.filter(({ spec }) => spec.shellFile !== "/opt/last.sh");
      assert.ok(old.length <= partition, `${old.length} apps are not updated, partition is ${partition}`);
      for (const app of cluster.own) {
        assert.equal(
          healthOf(app, cluster.set.spec, cluster.now).available,
          app.spec.shellFile?.includes("last") || !/bad|hung/.test(app.spec.shellFile ?? ""),
        );
      }
      for (const name of cluster.nodes.keys()) {
        assert.ok(cluster.apps.has(`web-${name}`), `${name} has no app`);
      }
      assert.equal(
        cluster.own.length +
          foreign.filter(({ metadata }) => cluster.nodes.has(metadata.name.slice(4))).length,
        cluster.nodes.size,
      );
      // Nobody else's app was touched, and at rest there is nothing to do.
      for (const app of foreign) assert.equal(cluster.apps.get(app.metadata.name), app);
      assert.deepEqual(cluster.plan().actions, []);
      const before = cluster.set.status;
      assert.deepEqual(cluster.plan().status, before);
    }),
    runs(150),
  );
});

test("a revision that fails reaches at most maxUnavailable + maxFailed apps", limit, () => {
  const calm = common.slice(0, 4);
  fc.assert(
    fc.property(
      world([...calm, ...common.slice(6)], 80),
      fc.constantFrom("bad", "hung"),
      ([spec, nodes, steps], script) => {
        const scene = started(spec, nodes);
        const { cluster, watchman } = scene;
        cluster.editApp({ shellFile: `/opt/${script}.sh` });
        for (const step of steps) perform(cluster, watchman, step);
        letHappen(scene, 40, 40);
        const { maxUnavailable = 1, maxFailed = 1, onFailure } = cluster.set.spec.update ?? {};
        const budget = typeof maxUnavailable === "number"
          ? maxUnavailable
          : Math.max(1, Math.floor(nodes * Number.parseInt(maxUnavailable) / 100));
        const reached = watchman.reached.get(`/opt/${script}.sh`)?.size ?? 0;
        assert.ok(
          reached <= budget + maxFailed,
          `reached ${reached} apps, budget ${budget}, maxFailed ${maxFailed}`,
        );
        if (onFailure === "Rollback" && cluster.set.status?.stoppedRollout) {
          assert.ok(cluster.own.every((app) => cluster.isAvailable(app)), "all apps are back");
          assert.equal(cluster.set.spec.template.spec.shellFile, `/opt/${script}.sh`);
        }
        assert.deepEqual(cluster.plan().actions, []);
      },
    ),
    runs(150),
  );
});

test(
  "a number of apps is rolled out within the budget while it is scaled, and settles at that number",
  limit,
  () => {
    const steps = [
      ...common,
      ...common,
      fc.record({ do: act("bind") }),
      fc.record({ do: act("scale"), replicas: fc.nat(7) }),
      fc.record({ do: act("lose", "return", "cordon"), node: at }),
      fc.record({ do: act("deleteApp", "restartApp"), app: at }),
    ];
    fc.assert(
      fc.property(world(steps), ([spec, nodes, steps]) => {
        const cluster = new SimulatedCluster({ nodes, spec: { ...spec, replicas: 4 } });
        const watchman = new Watchman(cluster);
        const turn = () => {
          perform(cluster, watchman, { do: "reconcile", writes: 99 });
          for (const step of ["bind", "agents", "seeAll"] as const) perform(cluster, watchman, { do: step });
          perform(cluster, watchman, { do: "wait", seconds: 15 });
        };
        for (let round = 0; round < 5; round++) turn();
        for (const step of steps) perform(cluster, watchman, step);
        for (const [name] of cluster.nodes) cluster.changeNode(name, { agent: "fresh", cordoned: false });
        cluster.editApp({ shellFile: "/opt/last.sh" });
        for (let round = 0; round < 100; round++) {
          turn();
          if (round > 20) cluster.promote();
        }
        const { replicas, update } = cluster.set.spec;
        assert.equal(cluster.own.length, replicas);
        const old = cluster.own.filter(({ spec }) => spec.shellFile !== "/opt/last.sh");
        assert.ok(old.length <= (update?.partition ?? 0), `${old.length} apps are not updated`);
        assert.deepEqual(cluster.plan().actions, []);
        assert.deepEqual(cluster.plan().status, cluster.set.status);
      }),
      runs(75),
    );
  },
);

test("before its promotion a revision reaches only canaries, whatever joins and restarts", limit, () => {
  const canary = fc.constantFrom({ count: 1 }, { count: 2 }, { nodeSelector: { zone: "lab" } });
  const steps = [
    ...common.slice(0, 4),
    ...common.slice(6),
    fc.record({ do: act("join"), node: at }),
    fc.record({ do: act("restartApp", "deleteApp"), app: at }),
  ];
  fc.assert(
    fc.property(world(steps), canary, ([spec, nodes, steps], canary) => {
      const { cluster, watchman } = started({ ...spec, update: { ...spec.update, canary } }, nodes);
      cluster.changeNode("n1", { labels: { zone: "lab" } });
      cluster.editApp({ shellFile: "/opt/v2.sh" });
      for (const step of steps) {
        perform(cluster, watchman, step);
        const reached = cluster.own.filter(({ spec, metadata }) =>
          spec.shellFile === "/opt/v2.sh" && !metadata.deletionTimestamp
        );
        if ("count" in canary) assert.ok(reached.length <= canary.count!, `${reached.length} apps`);
        else assert.ok(reached.every(({ spec }) => spec.nodeName === "n1"));
      }
    }),
    runs(150),
  );
});

test("a change of caps alone is rolled out without touching anything else", limit, () => {
  fc.assert(
    fc.property(
      world(common.slice(0, 4), 40),
      fc.integer({ min: 1, max: 9 }),
      ([spec, nodes, steps], cap) => {
        const scene = started(
          { ...spec, update: { ...spec.update, canary: undefined, partition: 0 } },
          nodes,
        );
        const { cluster, watchman } = scene;
        const running = new Map(cluster.running);
        cluster.editApp({ cpuPCT: cap });
        for (const step of steps) perform(cluster, watchman, step);
        letHappen(scene, 40, 15);
        assert.deepEqual(cluster.running, running);
        assert.ok(
          cluster.own.every((app) => app.spec.cpuPCT === cap && app.metadata.labels?.[setLabels.revision]),
        );
      },
    ),
    runs(50),
  );
});

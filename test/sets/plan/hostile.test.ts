/** Sets that no person would write, or that an older schema accepted: a plan of one is bounded, whatever its numbers are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { NCAppSetSpec, NCAppSetStatus } from "../../../src/api/types.ts";
import { validateNCAppSet } from "../../../src/api/validate/validate.ts";
import { plan } from "../../../src/sets/plan/plan.ts";
import { maxChanges } from "../../../src/sets/plan/slots.ts";
import type { Action, Revision } from "../../../src/sets/types.ts";
import { runs } from "../../properties.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";
import { setSpecWith, setWith } from "../../api/set-samples.ts";

const number = fc.oneof(
  fc.nat(20),
  fc.constantFrom(10_000, 1_000_000, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 1e300),
);
const numbers = fc.record({
  replicas: fc.option(number, { nil: undefined }),
  minReadySeconds: number,
  progressDeadlineSeconds: number,
  revisionHistoryLimit: number,
  update: fc.record({
    maxUnavailable: fc.oneof(number, fc.constantFrom("100%", "1%")),
    partition: number,
    maxFailed: number,
    canary: fc.option(fc.record({ count: number, autoPromote: fc.boolean() }), { nil: undefined }),
  }),
});
const status = fc.record({
  collisionCount: number,
  stableRevision: fc.string(),
  stoppedRollout: fc.string(),
});

const countOf = (actions: readonly Action[]) => Map.groupBy(actions, ({ kind }) => kind);

/** Plans, and counts what the plan looks at. */
function planned(cluster: SimulatedCluster) {
  let asked = 0;
  const world = cluster.world();
  const result = plan({
    ...world,
    appNamed: (name) => (asked++, world.appNamed(name)),
    revisionNamed: (name) => (asked++, world.revisionNamed(name)),
  });
  return { ...result, asked };
}

test("whatever the numbers of a set are, a plan looks at its apps and some hundred more, and changes as many", () => {
  fc.assert(
    fc.property(numbers, status, fc.nat(30), (spec, given, apps) => {
      const cluster = new SimulatedCluster({ nodes: 3, spec: { replicas: apps } });
      cluster.settle();
      cluster.set = {
        ...cluster.set,
        spec: { ...cluster.set.spec, ...spec as Partial<NCAppSetSpec> },
        status: { ...cluster.set.status, ...given as NCAppSetStatus },
      };
      for (let pass = 0; pass < 2; pass++) {
        const { actions, asked } = planned(cluster);
        assert.ok(asked <= apps + 2 * maxChanges, `${asked} objects`);
        for (const [kind, these] of countOf(actions)) assert.ok(these.length <= maxChanges, kind);
        cluster.reconcile();
      }
    }),
    runs(100),
  );
});

test("a set of a thousand apps is there, updated and gone after several plans", () => {
  const cluster = new SimulatedCluster({ nodes: 0, spec: { replicas: 1000 } });
  const sizes = () => {
    const found: number[] = [];
    for (let pass = 0; pass < 20; pass++) {
      const { actions } = cluster.reconcile();
      for (const name of new Set([...cluster.apps.keys(), ...cluster.view.keys()])) cluster.see(name);
      if (actions.length > 1) found.push(actions.length);
    }
    return found;
  };
  assert.deepEqual(sizes(), [250, 250, 250, 250]);
  assert.equal(cluster.own.length, 1000);
  cluster.edit((spec) => ({ ...spec, replicas: 10 }));
  assert.equal(countOf(cluster.plan().actions).get("delete")?.length, maxChanges);
});

test("apps that are created together share the parts of their spec", () => {
  const cluster = new SimulatedCluster({ nodes: 0, spec: { replicas: 100 } });
  cluster.editApp({ args: Array.from({ length: 4096 }, (_, at) => `argument ${at}`) });
  cluster.reconcile();
  const created = cluster.plan().actions.filter((action) => action.kind === "create");
  assert.equal(created.length, 100);
  assert.equal(new Set(created.map(({ app }) => app.spec.args)).size, 1);
});

test("a plan gives up finding a name for a revision, and the next one goes on", () => {
  const cluster = new SimulatedCluster({ nodes: 1 });
  const foreign = {
    metadata: { ownerReferences: [{ controller: true }] },
    revision: 1,
  } as unknown as Revision;
  for (const collisionCount of [0, 2 ** 31 - 1, 2 ** 53, 1e300]) {
    cluster.set = { ...cluster.set, status: { collisionCount } };
    const { actions, status } = plan({ ...cluster.world(), revisionNamed: () => foreign });
    assert.deepEqual([actions, status.collisionCount], [[], 64]);
  }
});

test("an override that is nested as deep as an API server accepts is a problem of the set, not of the controller", () => {
  let deep: object = {};
  for (let level = 0; level < 10_000; level++) deep = { a: deep };
  for (const patch of [{ livenessProbe: deep }, { env: [deep] }, deep]) {
    const overrides = [{ nodeSelector: { zone: "lab" }, patch: { spec: patch } }];
    const errors = validateNCAppSet(setWith(setSpecWith({ overrides })));
    assert.deepEqual(errors.map(({ field }) => field), ["spec.overrides[0].patch.spec"]);
    assert.match(errors[0]!.message, /must not be nested more than 32 levels deep/);
  }
});

test("more replicas than a cluster has apps are refused", () => {
  const errors = (replicas: number) => validateNCAppSet(setWith(setSpecWith({ replicas })));
  assert.deepEqual(errors(10_000), []);
  assert.match(errors(1_000_000)[0]!.message, /spec\.replicas: Invalid value: 1000000: must be 0 to 10000/);
});

/** Apps with as many rules as the schema accepts: the work for one app and one node is bounded. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { affinity, nodeSelectorTerm } from "../../../src/api/schema/schema.ts";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { validateNCApp } from "../../../src/api/validate/validate.ts";
import { chooseNode } from "../../../src/scheduler/place/place.ts";
import { formatRefusals } from "../../../src/scheduler/place/refusals.ts";
import { Snapshot } from "../../../src/scheduler/state/state.ts";
import { runs } from "../../properties.ts";
import { app, facts, ncapp, snapshotOf } from "../sample-cluster.ts";

const { requiredDuringSchedulingIgnoredDuringExecution: required } =
  affinity.properties.nodeAffinity.properties;
const most = {
  terms: required.properties.nodeSelectorTerms.maxItems,
  expressions: nodeSelectorTerm.properties.matchExpressions.maxItems,
  values: nodeSelectorTerm.properties.matchExpressions.items.properties.values.maxItems,
};

/** Labels that count how often they are read. */
function countedLabels(labels: Record<string, string>, counts: { reads: number }): Record<string, string> {
  return new Proxy(labels, {
    getOwnPropertyDescriptor: (
      target,
      key,
    ) => (counts.reads++, Reflect.getOwnPropertyDescriptor(target, key)),
  });
}

/** Values that count how often one of them is read. */
function countedValues(values: string[], counts: { compared: number }): string[] {
  return new Proxy(values, {
    get(target, key, receiver) {
      if (/^\d+$/.test(String(key))) counts.compared++;
      return Reflect.get(target, key, receiver);
    },
  });
}

test("an app with the most rules costs some hundred lookups for each node, however many values they have", () => {
  const size = fc.record({
    terms: fc.integer({ min: 1, max: most.terms }),
    expressions: fc.integer({ min: 1, max: most.expressions }),
    values: fc.constantFrom(1, 9, most.values),
    nodes: fc.integer({ min: 1, max: 40 }),
  });
  fc.assert(
    fc.property(size, ({ terms, expressions, values, nodes }) => {
      const counts = { reads: 0, compared: 0 };
      // All but the last hold, so that every one of them is looked at.
      const term = () => ({
        matchExpressions: Array.from({ length: expressions }, (_, at) => ({
          key: `label-${at}`,
          operator: at < expressions - 1 ? "NotIn" as const : "In" as const,
          values: countedValues(Array.from({ length: values }, (_, value) => `value-${value}`), counts),
        })),
      });
      const all = Array.from({ length: terms }, term);
      const spec: NCAppSpec = {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: all },
            preferredDuringSchedulingIgnoredDuringExecution: all.map((preference) => ({
              weight: 1,
              preference,
            })),
          },
        },
      };
      assert.deepEqual(validateNCApp(ncapp("greedy", spec)), []);
      const greedy = app("greedy", spec);
      const snapshot = new Snapshot();
      const labels = Object.fromEntries(
        Array.from({ length: expressions }, (_, at) => [`label-${at}`, "other"]),
      );
      for (let at = 0; at < nodes; at++) {
        snapshot.setNode(`n${at}`, facts({ labels: countedLabels(labels, counts) }));
        snapshot.setAgent(`n${at}`, "fresh");
      }
      Object.assign(counts, { reads: 0, compared: 0 });
      chooseNode(greedy, snapshot, { policy: "spread", now: 0, random: () => 0, start: 0 });
      // A filter decides, and again when its refusal is explained.
      const passes = 3 * nodes;
      const rules = 2 * most.terms * most.expressions;
      assert.ok(counts.reads <= passes * rules, `${counts.reads} labels read for ${nodes} nodes`);
      const once = terms * expressions * values;
      const short = values > 8 ? 0 : passes * once;
      assert.ok(counts.compared <= once + short, `${counts.compared} values compared for ${nodes} nodes`);
    }),
    runs(30),
  );
});

test("the key of long rules is short, and the same for equal rules only", () => {
  const rules = (last: string): NCAppSpec => ({
    tolerations: Array.from({ length: 256 }, (_, at) => ({ key: `key-${at}${last}`, operator: "Exists" })),
  });
  const key = (last: string) => app("a", rules(last)).placement.key;
  assert.ok(key("").length <= 256);
  assert.equal(key(""), key(""));
  assert.notEqual(key(""), key("x"));
});

test("the reasons of many different nodes fit into a short text", () => {
  const nodes = Object.fromEntries(
    Array.from(
      { length: 500 },
      (_, at) => [`n${at}`, { taints: [{ key: `own-${at}`, effect: "NoSchedule" }] }],
    ),
  );
  const decision = chooseNode(app("a"), snapshotOf(nodes), {
    policy: "spread",
    now: 0,
    random: () => 0,
    start: 0,
  });
  assert.ok("refusals" in decision);
  const text = formatRefusals(decision.refusals);
  assert.match(text, /^0\/500 nodes are available: 1 untolerated taint .*, 484 for other reasons$/);
  assert.ok(text.length < 1000);
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { runConditions } from "../../src/api/conditions.ts";
import { group, kind, setKind, version } from "../../src/api/names.ts";
import { ncapp, ncappset, type Schema } from "../../src/api/schema/schema.ts";
import { checkout } from "../harness/parts.ts";

const read = <T>(name: string) => load(readFileSync(join(checkout, "docs/monitoring", name), "utf8")) as T;

interface Metric {
  path?: string[];
  list?: string[];
  labelsFromPath?: Record<string, string[]>;
  valueFrom?: string[];
}
interface StateConfig {
  spec: {
    resources: {
      groupVersionKind: { group: string; version: string; kind: string };
      metrics: { name: string; each: { type: string; gauge?: Metric; stateSet?: Metric; info?: Metric } }[];
    }[];
  };
}

function fieldAt(schema: Schema | undefined, path: readonly string[]): Schema | undefined {
  return path.reduce<Schema | undefined>((at, step) => (at?.items ?? at)?.properties?.[step], schema);
}

test("kube-state-metrics.yaml names fields that the kinds have, and every phase", () => {
  const { resources } = read<StateConfig>("kube-state-metrics.yaml").spec;
  assert.deepEqual(resources.map(({ groupVersionKind }) => groupVersionKind), [
    { group, version, kind },
    { group, version, kind: setKind },
  ]);
  for (const { groupVersionKind, metrics } of resources) {
    const schema: Schema = groupVersionKind.kind === kind ? ncapp : ncappset;
    for (const { name, each: { gauge, stateSet, info } } of metrics) {
      const { path = [], list, labelsFromPath = {}, valueFrom = [] } = gauge ?? stateSet ?? info ?? {};
      for (const below of [[], valueFrom, ...Object.values(labelsFromPath)]) {
        const whole = [...path, ...below];
        if (whole[0] === "metadata") continue;
        assert.ok(fieldAt(schema, whole), `${name}: there is no ${whole.join(".")}`);
      }
      if (list) assert.deepEqual(list, fieldAt(schema, path)?.enum);
    }
  }
});

test("argocd-health.yaml judges both kinds, by conditions and phases that there are", () => {
  const { data } = read<{ data: Record<string, string> }>("argocd-health.yaml");
  const [key, setKey] = [kind, setKind].map((name) => `resource.customizations.health.${group}_${name}`);
  assert.deepEqual(Object.keys(data), [key, setKey]);
  const script = data[key!]!;
  assert.equal(data[setKey!], script);
  const conditions = [...script.matchAll(/isTrue\("(\w+)"\)/g)].map(([, type]) => type!);
  assert.deepEqual(conditions.filter((type) => !(runConditions as readonly string[]).includes(type)), []);
  const phases: readonly string[] = ncapp.properties.status.properties.phase.enum;
  for (const [, phase] of script.matchAll(/status\.phase == "(\w+)"/g)) {
    assert.ok(phases.includes(phase!), phase!);
  }
});

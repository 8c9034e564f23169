import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { runConditions } from "../../src/api/conditions.ts";
import { group, kind, setKind, version } from "../../src/api/names.ts";
import { ncapp, ncappset, type Schema } from "../../src/api/schema/schema.ts";
import { checkout, findProgram, skipUnless } from "../harness/parts.ts";
import { kstatus } from "../kstatus.ts";

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

/** By what an agent, the scheduler or the sets controller reports: the verdict of Argo CD and that of kstatus. */
const verdicts: [state: string, status: object | undefined, argo: string, kstatus: string][] = [
  ["runs", { phase: "Running", conditions: is("Ready") }, "Healthy", "Current"],
  ["has succeeded", { phase: "Succeeded", conditions: is("Complete") }, "Healthy", "Current"],
  ["waits for its schedule", { phase: "Pending", reason: "Scheduled", conditions: [] }, "Healthy", "Current"],
  ["is suspended", { phase: "Stopped", conditions: is("Suspended") }, "Healthy", "Current"],
  ["has no script", { phase: "Pending", reason: "NoShellFile", conditions: [] }, "Healthy", "Current"],
  ["starts", { phase: "Starting", conditions: is("Reconciling", "-Ready") }, "Progressing", "InProgress"],
  ["has no node", { phase: "Pending", conditions: is("Reconciling") }, "Progressing", "InProgress"],
  ["crashes", { phase: "BackOff", conditions: is("-Ready", "Reconciling") }, "Degraded", "InProgress"],
  ["has failed", { phase: "Failed", conditions: is("-Ready", "Stalled", "Failed") }, "Degraded", "Failed"],
  ["is invalid", { phase: "Running", conditions: is("Ready", "Stalled") }, "Degraded", "Failed"],
  ["is on a lost node", { phase: "Unknown", conditions: is("?Ready") }, "Degraded", "InProgress"],
  [
    "is not observed",
    { phase: "Running", conditions: is("Ready"), observedGeneration: 1 },
    "Progressing",
    "InProgress",
  ],
  [
    "a job is suspended",
    { conditions: is("Suspended", "-Complete", "-Failed", "-Stalled") },
    "Healthy",
    "Current",
  ],
  ["a job is complete", { conditions: is("Complete", "-Failed", "-Stalled", "Ready") }, "Healthy", "Current"],
  [
    "a rollout is under way",
    { conditions: is("Reconciling", "-Stalled", "-Ready") },
    "Progressing",
    "InProgress",
  ],
  ["a rollout was stopped", { conditions: is("Stalled", "-Ready") }, "Degraded", "Failed"],
];

function is(...types: string[]): { type: string; status: string; message: string }[] {
  return types.map((type) => {
    const status = type.startsWith("-") ? "False" : type.startsWith("?") ? "Unknown" : "True";
    return { type: type.replace(/^[-?]/, ""), status, message: `why ${type}` };
  });
}

/** A value as Lua writes it. */
function lua(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(lua).join(", ")}}`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${
    Object.entries(value).map(([key, item]) => `[${JSON.stringify(key)}] = ${lua(item)}`).join(", ")
  }}`;
}

test(
  "Argo CD runs argocd-health.yaml: what is as it should be is Healthy, so that no sync wave waits for it",
  {
    skip: skipUnless("lua"),
  },
  () => {
    const program = findProgram("lua");
    assert.ok("path" in program);
    const { data } = read<{ data: Record<string, string> }>("argocd-health.yaml");
    const script = data[`resource.customizations.health.${group}_${kind}`]!;
    const objects = verdicts.map(([, status]) => ({
      metadata: { generation: 2 },
      status: { observedGeneration: 2, ...status },
    }));
    const text = `local function judge(obj)\n${script}\nend\nfor _, obj in ipairs(${lua(objects)}) do\n` +
      "  local health = judge(obj)\n  print(health.status .. ': ' .. health.message)\nend\n";
    const said = execFileSync(program.path, ["-"], { input: text, encoding: "utf8" }).trim().split("\n");
    assert.deepEqual(
      verdicts.map(([state], at) => `${state}: ${said[at]!.split(":")[0]} ${kstatus(objects[at]!)}`),
      verdicts.map(([state, , argo, verdict]) => `${state}: ${argo} ${verdict}`),
    );
    assert.equal(said[7], "Degraded: why -Ready");
  },
);

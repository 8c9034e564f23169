/** Good and bad specs of NCAppSets, for the validator and for a real API server, which must agree. */
import type { BadSpec, RefusedBy } from "./samples.ts";

type Fields = { [name: string]: unknown };

/** The smallest spec of a set, with other fields. */
export function setSpecWith(fields: Fields = {}, app: Fields = {}, labels: Fields = { app: "web" }): Fields {
  return {
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels }, spec: { shellFile: "/opt/web.sh", ...app } },
    ...fields,
  };
}

/** A whole NCAppSet with this spec. */
export function setWith(spec: unknown, metadata: object = { name: "sample" }): { [name: string]: unknown } {
  return { apiVersion: "app.example.com/v1alpha1", kind: "NCAppSet", metadata, spec };
}

const update = (fields: Fields) => setSpecWith({ update: fields });
const selector = (selector: Fields, labels?: Fields) => setSpecWith({ selector }, {}, labels);
const override = (spec: unknown) =>
  setSpecWith({ overrides: [{ nodeSelector: { zone: "lab" }, patch: { spec } }] });

/** A set that is a job, with these fields of the job, of the set, and of the template. */
const job = (fields: Fields = {}, spec: Fields = {}, app: Fields = {}) =>
  setSpecWith({ job: fields, ...spec }, { restartPolicy: "Never", ...app });
const jobOverride = (spec: Fields) => ({ overrides: [{ nodeSelector: { zone: "lab" }, patch: { spec } }] });

export const goodSetSpecs: readonly unknown[] = [
  setSpecWith(),
  setSpecWith({ replicas: 0 }),
  setSpecWith({ replicas: 10_000, revisionHistoryLimit: 100 }),
  setSpecWith({
    replicas: 3,
    minReadySeconds: 10,
    progressDeadlineSeconds: 600,
    revisionHistoryLimit: 0,
    paused: true,
    update: {
      type: "RollingUpdate",
      maxUnavailable: "10%",
      partition: 2,
      canary: { count: 1, autoPromote: true },
      maxFailed: 3,
      onFailure: "Rollback",
    },
    overrides: [{ nodeSelector: { zone: "lab" }, patch: { spec: { cpuPCT: "50", env: null } } }],
  }),
  update({}),
  update({ type: "OnDelete" }),
  update({ maxUnavailable: 5 }),
  update({ maxUnavailable: "100%" }),
  update({ canary: { nodeSelector: { "example.com/canary": "true" } } }),
  selector({ matchExpressions: [{ key: "app", operator: "In", values: ["web", "api"] }] }),
  selector({ matchExpressions: [{ key: "app", operator: "Exists" }] }),
  selector({ matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] }),
  selector({ matchExpressions: [{ key: "app", operator: "NotIn", values: ["db"] }] }),
  job(),
  job({ completions: 0, parallelism: 0, backoffLimit: 0, backoffLimitPerIndex: 0, suspend: true }),
  job(
    { completions: 10_000, parallelism: 10_000, activeDeadlineSeconds: 1, ttlSecondsAfterFinished: 0 },
    {},
    {
      restartPolicy: "OnFailure",
      activeDeadlineSeconds: 60,
      suspend: false,
    },
  ),
  job({ backoffLimitPerIndex: 1 }, jobOverride({ cpuPCT: "50" })),
  setSpecWith({}, { nodeSelector: { zone: "a" }, tolerations: [{ operator: "Exists" }], schedule: "@daily" }),
];

const bad = (by: RefusedBy, field: string, ...specs: unknown[]): BadSpec[] =>
  specs.map((spec) => ({ spec, field, by }));

export const badSetSpecs: readonly BadSpec[] = [
  ...bad("schema", "spec.selector", { template: { metadata: { labels: { app: "web" } }, spec: {} } }),
  ...bad("schema", "spec.template", { selector: { matchLabels: { app: "web" } } }),
  ...bad("schema", "spec.template.metadata", {
    selector: { matchLabels: { app: "web" } },
    template: { spec: {} },
  }),
  ...bad(
    "schema",
    "spec.replicas",
    ...[-1, "3", 10_001, 1_000_000].map((replicas) => setSpecWith({ replicas })),
  ),
  ...bad("schema", "spec.revisionHistoryLimit", setSpecWith({ revisionHistoryLimit: 101 })),
  ...bad("schema", "spec.minReadySeconds", setSpecWith({ minReadySeconds: -1 })),
  ...bad(
    "schema",
    "spec.progressDeadlineSeconds",
    setSpecWith({ progressDeadlineSeconds: 0 }),
    setSpecWith({
      progressDeadlineSeconds: 2_147_483_647,
    }),
  ),
  ...bad("schema", "spec.update.type", update({ type: "Recreate" })),
  ...bad(
    "schema",
    "spec.update.maxUnavailable",
    ...[0, -1, "0%", "5", "101%", "a", ""].map((maxUnavailable) => update({ maxUnavailable })),
  ),
  ...bad("schema", "spec.update.maxFailed", update({ maxFailed: 0 })),
  ...bad("schema", "spec.update.onFailure", update({ onFailure: "Panic" })),
  ...bad("schema", "spec.update.canary.count", update({ canary: { count: 0 } })),
  ...bad(
    "cel",
    "spec.update.canary",
    update({ canary: { autoPromote: true } }),
    update({ canary: { count: 1, nodeSelector: { a: "b" } } }),
  ),
  ...bad("cel", "spec.selector", selector({}), selector({ matchLabels: {} })),
  ...bad(
    "cel",
    "spec.template.metadata.labels",
    setSpecWith({}, {}, { app: "other" }),
    setSpecWith({}, {}, {}),
    selector({ matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] }),
    selector({ matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }),
    selector({ matchExpressions: [{ key: "tier", operator: "In", values: ["front"] }] }),
  ),
  ...bad(
    "cel",
    "spec.selector.matchExpressions[0].values",
    selector({ matchExpressions: [{ key: "app", operator: "Exists", values: ["web"] }] }),
  ),
  ...bad("cel", "spec.template.metadata.annotations", {
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: {
        labels: { app: "web" },
        annotations: { "app.example.com/config.mirror": "n1/0123456789abcdef" },
      },
      spec: {},
    },
  }),
  ...bad("schema", "spec.job.completions", ...[-1, 10_001, "3"].map((completions) => job({ completions }))),
  ...bad("schema", "spec.job.parallelism", ...[-1, 10_001].map((parallelism) => job({ parallelism }))),
  ...bad("schema", "spec.job.backoffLimit", job({ backoffLimit: -1 })),
  ...bad("schema", "spec.job.activeDeadlineSeconds", job({ activeDeadlineSeconds: 0 })),
  ...bad("schema", "spec.job.ttlSecondsAfterFinished", job({ ttlSecondsAfterFinished: -1 })),
  ...bad("cel", "spec.replicas", job({}, { replicas: 3 })),
  ...bad("cel", "spec.paused", job({}, { paused: true })),
  ...bad(
    "cel",
    "spec.template.spec.restartPolicy",
    setSpecWith({ job: {} }),
    job({}, {}, { restartPolicy: "Always" }),
  ),
  ...bad("cel", "spec.template.spec.schedule", job({}, {}, { schedule: "@daily" })),
  ...bad("cel", "spec.template.spec.suspend", job({}, {}, { suspend: true })),
  ...bad("cel", "spec.overrides", job({ completions: 3 }, jobOverride({ cpuPCT: "50" }))),
  ...bad(
    "validator",
    "spec.overrides",
    ...[{ restartPolicy: "Always" }, { schedule: "@daily" }, { suspend: true }].map((spec) =>
      job({}, jobOverride(spec))
    ),
  ),
  ...bad("schema", "spec.template.spec.cpuPCT", setSpecWith({}, { cpuPCT: "200" })),
  ...bad("cel", "spec.template.spec.maxBackoffSeconds", setSpecWith({}, { backoffSeconds: 600 })),
  ...bad("cel", "spec.template.spec.schedule", setSpecWith({}, { schedule: "often" })),
  ...bad("schema", "spec.overrides[0].patch", setSpecWith({ overrides: [{ nodeSelector: { a: "b" } }] })),
  ...bad("validator", "spec.overrides[0].patch.spec", override({ nodeSelector: { a: "b" } })),
  ...bad("validator", "spec.overrides[0].patch.spec.cpuPCT", override({ cpuPCT: "200" })),
  ...bad("validator", "spec.overrides[0].patch.spec.cpuPct", override({ cpuPct: "20" })),
  ...bad("validator", "spec.template.metadata.labels", setSpecWith({}, {}, { app: "web", "a b": "c" })),
];

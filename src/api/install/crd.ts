import {
  crdName,
  group,
  kind,
  listKind,
  plural,
  policyCrdName,
  policyKind,
  policyListKind,
  policyPlural,
  policyShortName,
  policySingular,
  setCrdName,
  setKind,
  setListKind,
  setPlural,
  setShortName,
  setSingular,
  shortName,
  singular,
  version,
  versions,
} from "../names.ts";
import { type Rule, rules, setRules } from "../rules/rules.ts";
import { ncapp, ncappPolicy, ncappset, percent, type Schema } from "../schema/schema.ts";

/**
 * Returns the CustomResourceDefinition of NCApp, for API servers 1.31 and later: the server checks CEL rules between fields, and
 * watches select by node, so that an agent receives only its own apps. `legacy` leaves both out and fits every server since 1.16;
 * kubectl rejects fields that its server does not know.
 */
export function buildCRD({ legacy = false }: { legacy?: boolean } = {}): object {
  return define(crdName, { kind, listKind, plural, singular, shortNames: [shortName], categories: ["all"] }, {
    subresources: { status: {} },
    additionalPrinterColumns: appColumns,
    ...(legacy
      ? {}
      : { selectableFields: [{ jsonPath: ".spec.nodeName" }, { jsonPath: ".status.nodeName" }] }),
    schema: { openAPIV3Schema: serverSchema(ncapp, legacy ? [] : rules) },
  });
}

/** Returns the CustomResourceDefinition of NCAppSet; `legacy` leaves out the CEL rules. */
export function buildSetCRD({ legacy = false }: { legacy?: boolean } = {}): object {
  const names = {
    kind: setKind,
    listKind: setListKind,
    plural: setPlural,
    singular: setSingular,
    shortNames: [setShortName],
    categories: ["all"],
  };
  const templateRules = rules.map((rule) => ({
    ...rule,
    at: rule.at.replace(/^spec/, "spec.template.spec"),
  }));
  return define(setCrdName, names, {
    subresources: {
      status: {},
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.current",
        labelSelectorPath: ".status.selector",
      },
    },
    additionalPrinterColumns: setColumns,
    schema: { openAPIV3Schema: serverSchema(ncappset, legacy ? [] : [...setRules, ...templateRules]) },
  });
}

/** Returns the CustomResourceDefinition of NCAppPolicy, for servers with admission policies. */
export function buildPolicyCRD(): object {
  const names = {
    kind: policyKind,
    listKind: policyListKind,
    plural: policyPlural,
    singular: policySingular,
    shortNames: [policyShortName],
  };
  return define(policyCrdName, names, { schema: { openAPIV3Schema: serverSchema(ncappPolicy, []) } });
}

/** All versions have the same schema, so the server converts an object by its apiVersion alone. */
function define(name: string, names: object, details: object): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      group,
      scope: "Namespaced",
      names,
      versions: versions.map((name) => ({ name, served: true, storage: name === version, ...details })),
    },
  };
}

const appColumns = [
  { name: "Node", type: "string", jsonPath: ".spec.nodeName", description: "Node that runs the app." },
  { name: "Phase", type: "string", jsonPath: ".status.phase", description: "State of the app in one word." },
  {
    name: "Ready",
    type: "boolean",
    jsonPath: ".status.ready",
    description: "Whether the app can serve requests.",
  },
  {
    name: "CPU",
    type: "string",
    jsonPath: ".status.cpuPCT",
    description: "CPU usage in percent of the node.",
  },
  {
    name: "Mem",
    type: "string",
    jsonPath: ".status.memPCT",
    description: "Memory usage in percent of the node.",
  },
  {
    name: "Restarts",
    type: "integer",
    jsonPath: ".status.restarts",
    description: "Number of restarts.",
  },
  {
    name: "Age",
    type: "date",
    jsonPath: ".metadata.creationTimestamp",
    description: "Time since the NCApp was created.",
  },
  {
    name: "CPU-Cap",
    type: "string",
    jsonPath: ".spec.cpuPCT",
    priority: 1,
    description: "CPU cap in percent of the node.",
  },
  {
    name: "Mem-Cap",
    type: "string",
    jsonPath: ".spec.memPCT",
    priority: 1,
    description: "Memory cap in percent of the node.",
  },
  {
    name: "Reason",
    type: "string",
    jsonPath: ".status.reason",
    priority: 1,
    description: "Why the app is in this phase.",
  },
];

const setColumns = [
  ...[
    { name: "Desired", path: "desired", description: "Number of apps that there should be." },
    { name: "Updated", path: "updated", description: "Number of apps that have the newest revision." },
    { name: "Ready", path: "ready", description: "Number of apps that are ready." },
    { name: "Completed", path: "succeeded", description: "Number of apps of a job that have completed." },
    { name: "Failed", path: "failed", description: "Number of apps that crash or cannot start." },
  ].map(({ name, path, description }) => ({
    name,
    type: "integer",
    jsonPath: `.status.${path}`,
    description,
  })),
  {
    name: "Revision",
    type: "string",
    jsonPath: ".status.updateRevision",
    description: "Revision of the template.",
  },
  {
    name: "Age",
    type: "date",
    jsonPath: ".metadata.creationTimestamp",
    description: "Time since the NCAppSet was created.",
  },
  {
    name: "Available",
    type: "integer",
    jsonPath: ".status.available",
    priority: 1,
    description: "Number of apps that have been ready for minReadySeconds.",
  },
  {
    name: "Stable",
    type: "string",
    jsonPath: ".status.stableRevision",
    priority: 1,
    description: "Last revision that was rolled out completely.",
  },
  {
    name: "Stalled",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Stalled")].status',
    priority: 1,
    description: "Whether the rollout has stopped because apps failed, or the job has failed.",
  },
];

/** The server has its own schema of metadata and rejects any other. */
function serverSchema(
  schema: { properties: { spec: Schema; status?: Schema } },
  rules: readonly Rule[],
): Schema {
  const { spec, status } = schema.properties;
  const whole: Schema = {
    ...schema,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec,
      ...(status ? { status } : {}),
    },
  };
  return rules.length === 0 ? whole : withRules(withoutShares(whole) as Schema, rules);
}

/** A rule says in words what the pattern and the bounds of a share say. */
function withoutShares(schema: unknown): unknown {
  if (Array.isArray(schema) || typeof schema !== "object" || schema === null) return schema;
  const { pattern, minimum: _min, maximum: _max, exclusiveMinimum: _exclusive, ...rest } = schema as Schema;
  const kept = pattern === percent ? rest : schema;
  return Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, withoutShares(value)]));
}

type Validation = { rule: string; message: string; fieldPath?: string };

function withRules(schema: Schema, rules: readonly Rule[]): Schema {
  return rules.reduce(
    (built, { at, blames, cel, message }) =>
      cel
        ? withRule(built, at.split("."), {
          rule: cel,
          message,
          ...(blames ? { fieldPath: `.${blames}` } : {}),
        })
        : built,
    schema,
  );
}

function withRule(schema: Schema, path: readonly string[], validation: Validation): Schema {
  const [step, ...rest] = path;
  if (step === undefined) {
    const validations =
      (schema as { "x-kubernetes-validations"?: Validation[] })["x-kubernetes-validations"] ?? [];
    return { ...schema, "x-kubernetes-validations": [...validations, validation] } as Schema;
  }
  const name = step.replace("[]", "");
  const field = schema.properties?.[name];
  if (!field) throw new Error(`a rule names ${path.join(".")}, which is not in the schema`);
  const changed = step.endsWith("[]")
    ? { ...field, items: withRule(field.items ?? {}, rest, validation) }
    : withRule(field, rest, validation);
  return { ...schema, properties: { ...schema.properties, [name]: changed } };
}

import { group, kind, listKind, plural, shortName, singular, version } from "../names.ts";
import { rules } from "../rules/rules.ts";
import { ncapp, type Schema } from "../schema/schema.ts";

/** Features of newer API servers that a CRD may use. */
export type CRDFeatures = {
  /** CEL rules between fields: 1.25 and later; with `fieldPath`: 1.28. */
  cel?: boolean;
  /** Watches by `spec.nodeName`, so that an agent receives only its own apps: 1.31 and later. */
  selectableFields?: boolean;
};

/**
 * Returns the CustomResourceDefinition of NCApp. Without features it fits every server since 1.16. The features are
 * optional because kubectl rejects fields that its server does not know.
 */
export function buildCRD({ cel = false, selectableFields = false }: CRDFeatures = {}): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, listKind, plural, singular, shortNames: [shortName], categories: ["all"] },
      versions: [{
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: printerColumns,
        ...(selectableFields ? { selectableFields: [{ jsonPath: ".spec.nodeName" }] } : {}),
        schema: { openAPIV3Schema: cel ? withRules(serverSchema) : serverSchema },
      }],
    },
  };
}

const printerColumns = [
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

// The server has its own schema of metadata and rejects any other here.
const serverSchema: Schema = {
  ...ncapp,
  required: ["spec"],
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec: ncapp.properties.spec,
    status: ncapp.properties.status,
  },
};

type Validation = { rule: string; message: string; fieldPath?: string };

function withRules(schema: Schema): Schema {
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

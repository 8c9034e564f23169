import { kind, setKind, setSingular } from "../../api/names.ts";
import { ncapp, ncappset, type Schema, setSpec } from "../../api/schema/schema.ts";
import { closest } from "../../lib/closest.ts";
import { ownValue } from "../../lib/objects.ts";
import { type Command, UsageError } from "../command.ts";
import { formatTable } from "../screen/screen.ts";

/** Explains a field of NCApps or NCAppSets from the schema, as `kubectl explain` does, without a cluster. */
export const explainCommand: Command = {
  operands: "[FIELD]",
  flags: {},
  examples: [
    "nckubelet explain",
    "nckubelet explain spec.livenessProbe",
    "nckubelet explain cpuPCT",
    "nckubelet explain ncappset.spec.update",
  ],
  async run({ args: [field = "", extra] }, io) {
    if (extra !== undefined) throw new UsageError(`takes one field, not also ${JSON.stringify(extra)}`);
    const { path, schema } = findField(field);
    io.stdout(`${describeField(path, schema).join("\n")}\n`);
    return 0;
  },
};

/** Finds a field by its path, which may leave out `spec.`, and `ncapp.` but not `ncappset.`. */
function findField(field: string): { path: string; schema: Schema } {
  const [, ofSet, rest = ""] = /^(?:(ncappsets?|ncas)|ncapps?|nca)(?:\.(.*))?$/i.exec(field) ??
    ["", "", field];
  const [root, kindName, prefix] = ofSet ? [ncappset, setKind, [setSingular]] : [ncapp, kind, []];
  const names = rest.split(".").filter(Boolean).map((name) => name.replace(/\[\d*\]$/, ""));
  const isTop = names.length === 0 || Object.hasOwn(root.properties, names[0]!);
  const whole = isTop ? names : ["spec", ...names];
  let schema: Schema = root;
  for (const [index, name] of whole.entries()) {
    const fields = fieldsOf(schema);
    const next = ownValue(fields, name);
    if (!next) {
      const parent = index === 0 ? `an ${kindName}` : [...prefix, ...whole.slice(0, index)].join(".");
      const near = index === 1 && Object.hasOwn(setSpec.properties, name)
        ? `${setSingular}.spec.${name}`
        : closest(name, Object.keys(fields));
      const hint = near ? `; did you mean ${near}?` : "";
      throw new UsageError(`${parent} has no field ${JSON.stringify(name)}${hint}`);
    }
    schema = next;
  }
  return { path: whole.length === 0 ? kindName : [...prefix, ...whole].join("."), schema };
}

function fieldsOf(schema: Schema): Record<string, Schema> {
  return schema.properties ?? schema.items?.properties ?? {};
}

function describeField(path: string, schema: Schema): string[] {
  const fields = Object.entries(fieldsOf(schema));
  const needed = schema.required ?? schema.items?.required ?? [];
  const rows = fields.map(([name, field]) => [
    `  ${name}`,
    `<${typeOf(field)}>${needed.includes(name) ? " required" : ""}`,
    firstSentence(field.description ?? field.items?.description ?? ""),
  ]);
  return [
    `${path} <${typeOf(schema)}>`,
    ...(schema.description ?? schema.items?.description
      ? ["", `  ${schema.description ?? schema.items?.description}`]
      : []),
    ...limitsOf(schema).map((line) => `  ${line}`),
    ...(rows.length > 0 ? ["", "Fields:", ...formatTable(rows)] : []),
  ];
}

function typeOf(schema: Schema): string {
  if (schema["x-kubernetes-int-or-string"]) return "number or string";
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.additionalProperties) return `map of ${typeOf(schema.additionalProperties)}`;
  return schema.type ?? "anything";
}

function limitsOf({ default: standard, enum: values, minimum, maximum, exclusiveMinimum }: Schema): string[] {
  const low = minimum === undefined ? "" : `${exclusiveMinimum ? "more than " : "at least "}${minimum}`;
  const high = maximum === undefined ? "" : `at most ${maximum}`;
  return [
    ...(standard === undefined ? [] : [`Default: ${JSON.stringify(standard)}`]),
    ...(values ? [`One of: ${values.map((value) => value || '""').join(", ")}`] : []),
    ...(low || high ? [`Range: ${[low, high].filter(Boolean).join(", ")}`] : []),
  ];
}

function firstSentence(text: string): string {
  const sentence = /^.*?\.(?=\s|$)/.exec(text)?.[0] ?? text;
  // What follows a colon explains the words before it, unless they are one word or part of a bracket.
  const [head = ""] = sentence.split(": ");
  return head === sentence || !head.includes(" ") || head.includes("(") ? sentence : `${head}.`;
}

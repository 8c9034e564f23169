/**
 * Secrets and ConfigMaps in a folder of manifests: their keys with the bytes of their values, as an API server keeps them. Messages name
 * keys, never values.
 */
import { Buffer } from "node:buffer";
import { isObject, withoutNulls } from "../../lib/objects.ts";
import { quote, unknownField } from "../field-error.ts";
import { dataKey, explainMismatch, label, subdomain } from "../schema/schema.ts";

export interface ValueHolder {
  kind: "Secret" | "ConfigMap";
  namespace: string;
  name: string;
  data: ReadonlyMap<string, Uint8Array>;
}

type Problem = { field?: string; message: string };
type Parse = (text: string) => Uint8Array | string;

/** The fields with values; a parser returns the bytes, or what is wrong. The later field counts for a key that both have. */
const fields: Record<ValueHolder["kind"], Record<string, Parse>> = {
  Secret: { data: base64("stringData"), stringData: (text) => Buffer.from(text) },
  ConfigMap: { binaryData: base64("data"), data: (text) => Buffer.from(text) },
};

/** Reports whether the object is a Secret or a ConfigMap of Kubernetes. */
export function isValueHolder({ apiVersion, kind }: { [name: string]: unknown }): boolean {
  return apiVersion === "v1" && (kind === "Secret" || kind === "ConfigMap");
}

/** `Secret default/db`: identifies a holder, in messages too. */
export function holderKey(
  { kind, namespace, name }: Pick<ValueHolder, "kind" | "namespace" | "name">,
): string {
  return `${kind} ${namespace}/${name}`;
}

/** Reads a Secret or ConfigMap; `key` is absent if it has no valid name. */
export function readValueHolder(
  object: { [name: string]: unknown },
  namespace: string,
): { key?: string } & ({ holder: ValueHolder } | { problems: Problem[] }) {
  const kind = object.kind as ValueHolder["kind"];
  const given = isObject(object.metadata) ? withoutNulls(object.metadata) : {};
  const metadata: { [name: string]: unknown } = { namespace, ...given };
  const badName = nameProblems(metadata);
  if (badName.length > 0) return { problems: badName };
  const names = { kind, namespace: String(metadata.namespace), name: String(metadata.name) };
  const key = holderKey(names);
  const data = new Map<string, Uint8Array>();
  const known = ["apiVersion", "kind", "metadata", "type", "immutable", ...Object.keys(fields[kind])];
  const unknown = Object.keys(object).filter((name) => !known.includes(name));
  const problems = [
    ...unknown.map((name) => unknownField(name, name, known)),
    ...Object.entries(fields[kind]).flatMap(([field, parse]) =>
      readValues(field, object[field] ?? {}, parse, data)
    ),
  ];
  return problems.length > 0 ? { key, problems } : { key, holder: { ...names, data } };
}

function nameProblems(metadata: { [name: string]: unknown }): Problem[] {
  return ([["name", subdomain], ["namespace", label]] as const).flatMap(([name, pattern]) => {
    const field = `metadata.${name}`;
    const value = metadata[name];
    if (typeof value !== "string") return [{ field, message: `${field}: must be a name` }];
    return value.length <= 253 && new RegExp(pattern).test(value)
      ? []
      : [{ field, message: `${field}: Invalid value: ${quote(value)}: ${explainMismatch(pattern, value)}` }];
  });
}

/** Adds the values of a field to `data`; returns what is wrong. */
function readValues(field: string, values: unknown, parse: Parse, data: Map<string, Uint8Array>): Problem[] {
  if (!isObject(values)) return [{ field, message: `${field}: must be a map of keys and values` }];
  return Object.entries(values).flatMap(([key, value]) => {
    const at = `${field}.${key}`;
    if (!new RegExp(dataKey).test(key) || key.length > 253) {
      return [{ field: at, message: `${field}: the key ${quote(key)} ${explainMismatch(dataKey, key)}` }];
    }
    const bytes = typeof value === "string" ? parse(value) : "must be a string: quote it";
    if (typeof bytes === "string") return [{ field: at, message: `${at}: ${bytes}` }];
    data.set(key, bytes);
    return [];
  });
}

/** `plain` is the field for values as they are. */
function base64(plain: string): Parse {
  return (text) => {
    const compact = text.replace(/\s+/g, "");
    const isBase64 = /^[A-Za-z0-9+/]*={0,2}$/.test(compact) && compact.length % 4 === 0;
    return isBase64 ? Buffer.from(compact, "base64") : `must be base64; ${plain} takes plain text`;
  };
}

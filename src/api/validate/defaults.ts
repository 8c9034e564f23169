import { isObject } from "../../lib/objects.ts";
import { type Schema, spec as specSchema } from "../schema/schema.ts";
import type { DefaultedSpec, NCAppSpec } from "../types.ts";

/**
 * Returns a copy of a valid spec with the schema's defaults filled in and nulls dropped, as the API server stores it. Apps
 * from files, URLs and the socket never pass the API server; this gives them the same meaning.
 */
export function applyDefaults(spec: NCAppSpec): DefaultedSpec {
  return withDefaults(specSchema, spec) as DefaultedSpec;
}

/** Returns `value` as the API server would store it under `schema`. Parts with the wrong type stay unchanged. */
export function withDefaults(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) {
    return schema.items ? value.map((item) => withDefaults(schema.items!, item)) : value;
  }
  if (!isObject(value)) return value;
  // The server keeps everything there, also nulls, which remove fields in a merge patch.
  if (schema["x-kubernetes-preserve-unknown-fields"] && !schema.properties) return value;
  const properties = schema.properties ?? {};
  const given = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  const missing = Object.entries(properties).filter(([name, field]) =>
    field.default !== undefined && value[name] == null
  );
  // fromEntries makes own fields even for names such as __proto__.
  return Object.fromEntries([
    ...given.map(([name, field]) => {
      const fieldSchema = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
      return [name, fieldSchema ? withDefaults(fieldSchema, field) : field];
    }),
    ...missing.map(([name, field]) => [name, withDefaults(field, field.default)]),
  ]);
}

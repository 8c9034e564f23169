/**
 * The TypeScript type of a schema. The schema is data (`as const`) and the type is derived from it, so the two cannot
 * disagree.
 */

/** The part of Kubernetes' structural OpenAPI v3 schema that NCApp uses; `check-schema.ts` implements all of it. */
export type Schema = {
  readonly description?: string;
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly format?: "date-time" | "int32" | "int64";
  readonly enum?: readonly string[];
  readonly default?: string | number | boolean | Readonly<Record<string, number>>;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly maxProperties?: number;
  readonly "x-kubernetes-int-or-string"?: true;
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
};

/**
 * The type of the values that a schema accepts.
 *
 * `Mode` "sent" is what users write: fields with a default are optional. "defaulted" is what `applyDefaults` returns:
 * these fields are set.
 */
export type FromSchema<S, Mode extends "sent" | "defaulted" = "sent"> = S extends
  { readonly "x-kubernetes-int-or-string": true } ? string | number
  : S extends { readonly enum: readonly (infer E)[] } ? E
  : S extends { readonly type: "string" } ? string
  : S extends { readonly type: "integer" | "number" } ? number
  : S extends { readonly type: "boolean" } ? boolean
  : S extends { readonly type: "array"; readonly items: infer I } ? FromSchema<I, Mode>[]
  : S extends { readonly properties: infer P } ? ObjectOf<P, RequiredNames<S> | DefaultedNames<P, Mode>, Mode>
  : S extends { readonly additionalProperties: infer V } ? { [name: string]: FromSchema<V, Mode> }
  : S extends { readonly "x-kubernetes-preserve-unknown-fields": true } ? unknown
  : never;

// The inferred O merges the intersection, so that editors and error messages show one object of plain fields.
type ObjectOf<P, Present, Mode extends "sent" | "defaulted"> = (
  & { -readonly [K in keyof P as K extends Present ? K : never]: FromSchema<P[K], Mode> }
  & { -readonly [K in keyof P as K extends Present ? never : K]?: FromSchema<P[K], Mode> }
) extends infer O ? { [K in keyof O]: O[K] } : never;

type RequiredNames<S> = S extends { readonly required: readonly (infer R)[] } ? R : never;

type DefaultedNames<P, Mode> = Mode extends "defaulted"
  ? { [K in keyof P]: P[K] extends { readonly default: unknown } ? K : never }[keyof P]
  : never;

/** Compares the CRD in a cluster with the one of this program. Pure. */
import { version } from "../names.ts";
import { ncapp, type Schema } from "../schema/schema.ts";

/** What a CRD lacks. One that has more, as of a newer release, lacks nothing. */
export interface CRDGaps {
  /** Fields that the server drops and enum values that it rejects: `status.nodeName`, `status.phase: BackOff`. */
  unknown: string[];
  /** Whether the server can select NCApps by their node. */
  selectable: boolean;
}

type CRDVersion = {
  name?: string;
  selectableFields?: { jsonPath?: string }[];
  schema?: { openAPIV3Schema?: Schema };
};

/** Returns what the CRD, as an API server returned it, lacks of this program's. */
export function findCRDGaps(crd: { spec?: { versions?: CRDVersion[] } }): CRDGaps {
  const served = crd.spec?.versions?.find(({ name }) => name === version);
  const installed = served?.schema?.openAPIV3Schema?.properties;
  const parts = ["spec", "status"] as const;
  return {
    unknown: parts.flatMap((name) => unknownIn(ncapp.properties[name], installed?.[name], name)),
    selectable: served?.selectableFields?.some(({ jsonPath }) => jsonPath === ".spec.nodeName") ?? false,
  };
}

/** Returns the topmost fields and the enum values of a schema that the installed one lacks. */
function unknownIn(schema: Schema, installed: Schema | undefined, path: string): string[] {
  if (!installed) return [path];
  if (installed["x-kubernetes-preserve-unknown-fields"]) return [];
  const values = installed.enum ? schema.enum?.filter((value) => !installed.enum?.includes(value)) : [];
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    unknownIn(field, installed.properties?.[name], `${path}.${name}`)
  );
  const items = schema.items ? unknownIn(schema.items, installed.items, `${path}[]`) : [];
  return [...(values ?? []).map((value) => `${path}: ${value}`), ...fields, ...items];
}

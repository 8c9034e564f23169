/**
 * Converts an NCApp of a source to what the supervisor runs: every default filled in, and fields that only the API server uses left
 * out, so that they cost neither memory nor disk.
 */
import { applyDefaults } from "../api/validate/validate.ts";
import { lastAppliedAnnotation } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { withoutUndefined } from "../lib/objects.ts";
import type { RunnableApp } from "../api/app-shapes.ts";

export function toRunnable({ apiVersion, kind, metadata, spec }: NCApp): RunnableApp {
  const { name, namespace, uid, generation, deletionTimestamp, labels, annotations } = metadata;
  const kept = annotations &&
    Object.fromEntries(Object.entries(annotations).filter(([key]) => key !== lastAppliedAnnotation));
  return {
    apiVersion,
    kind,
    metadata: withoutUndefined({
      name,
      namespace,
      uid,
      generation,
      deletionTimestamp,
      labels,
      annotations: kept,
    }),
    spec: applyDefaults(spec),
  };
}

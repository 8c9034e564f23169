/**
 * Finds what stands in for secrets in a copy that was made to be looked at: a mirror at the API server, an answer of the agent.
 *
 * Applied, such a copy would put the stand-ins in the place of the true values. The schema cannot say so, since mirrors
 * themselves have to pass it.
 */
import { isObject } from "./check-schema.ts";
import { type FieldError, invalid, quote } from "../field-error.ts";
import { annotations } from "../names.ts";
import { hiddenQuery, hiddenValue } from "../shown-spec.ts";

/** One error per field by which the object is such a copy; none for what a person wrote. */
export function findHiddenValues(object: unknown): FieldError[] {
  if (!isObject(object)) return [];
  const spec = isObject(object.spec) ? object.spec : {};
  const probes = ["livenessProbe", "readinessProbe", "startupProbe"].flatMap((name) =>
    hiddenHeaders(spec[name], `spec.${name}`)
  );
  return [
    ...mirrorMark(object.metadata),
    ...hiddenURL(spec.shellFile),
    ...hiddenIn(spec.env, "spec.env"),
    ...probes,
  ];
}

function mirrorMark(metadata: unknown): FieldError[] {
  const notes = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {};
  const mark = notes[annotations.mirror];
  if (mark === undefined) return [];
  const detail = "this is the API server's copy of an app that its node keeps, without what is secret: " +
    "apply the manifest that the app was made from";
  return [invalid(`metadata.annotations[${annotations.mirror}]`, mark, detail)];
}

function hiddenURL(shellFile: unknown): FieldError[] {
  const [url = ""] = typeof shellFile === "string" ? shellFile.split("#") : [];
  if (!/^[a-z][a-z0-9+.-]*:/i.test(url) || url.slice(url.indexOf("?")) !== hiddenQuery) return [];
  return [
    invalid("spec.shellFile", shellFile, "stands for a URL with a query that is not shown: write that"),
  ];
}

function hiddenHeaders(probe: unknown, field: string): FieldError[] {
  const httpGet = isObject(probe) ? probe.httpGet : undefined;
  return isObject(httpGet) ? hiddenIn(httpGet.httpHeaders, `${field}.httpGet.httpHeaders`) : [];
}

function hiddenIn(list: unknown, field: string): FieldError[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item, index) => {
    if (!isObject(item) || item.value !== hiddenValue) return [];
    const detail = `stands for the value of ${quote(item.name)}, which is not shown: write that`;
    return [invalid(`${field}[${index}].value`, item.value, detail)];
  });
}

/**
 * Finds the placeholders of secrets in a copy of an app: a mirror in the API server, or an answer of the agent.
 *
 * Applying such a copy would replace the real values with placeholders. The schema cannot forbid them, since mirrors have
 * to pass it.
 */
import { isObject } from "../../lib/objects.ts";
import { type FieldError, invalid, quote } from "../field-error.ts";
import { annotations } from "../names.ts";
import { probeNames } from "../probe-mechanisms.ts";
import { hiddenQuery, hiddenValue } from "../shown-spec.ts";

/** Returns one error per placeholder, and one for the mirror annotation. */
export function findHiddenValues(object: unknown): FieldError[] {
  return isObject(object) ? [...mirrorAnnotation(object.metadata), ...findPlaceholders(object)] : [];
}

/** Returns one error per placeholder. */
export function findPlaceholders(object: { spec?: unknown }): FieldError[] {
  const spec = isObject(object.spec) ? object.spec : {};
  const probes = probeNames.flatMap((name) => hiddenHeaders(spec[name], `spec.${name}`));
  return [
    ...hiddenURL(spec.shellFile),
    ...hiddenIn(spec.env, "spec.env"),
    ...probes,
  ];
}

function mirrorAnnotation(metadata: unknown): FieldError[] {
  const present = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {};
  const mirror = present[annotations.mirror];
  if (mirror === undefined) return [];
  const detail = "this is a mirror of an app on its node, without its secrets: " +
    "apply the original manifest";
  return [invalid(`metadata.annotations[${annotations.mirror}]`, mirror, detail)];
}

function hiddenURL(shellFile: unknown): FieldError[] {
  const [url = ""] = typeof shellFile === "string" ? shellFile.split("#") : [];
  if (!/^[a-z][a-z0-9+.-]*:/i.test(url) || url.slice(url.indexOf("?")) !== hiddenQuery) return [];
  return [
    invalid(
      "spec.shellFile",
      shellFile,
      "is the placeholder of a URL with a hidden query: write the whole URL",
    ),
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
    const detail = `is the placeholder of the hidden value of ${quote(item.name)}: write the value`;
    return [invalid(`${field}[${index}].value`, item.value, detail)];
  });
}

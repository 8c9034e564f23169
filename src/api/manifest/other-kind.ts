/**
 * Objects in a manifest that are no NCApps. Many are meant to be there: a Namespace, a ConfigMap, whatever else kubectl applies
 * from the same file.
 *
 * An app that is no longer in a file stops only if everything in the file is understood. So `foreign` is said of what
 * certainly is none of ours, and of nothing else: not of what may be an NCApp with a slip of the pen, nor of what is no object
 * of its own, such as a List without items or a Status that an API server gave in place of an answer.
 */
import { closest } from "../../lib/closest.ts";
import { isObject } from "../validate/validate.ts";
import { quote } from "../field-error.ts";
import { apiVersion, group, kind, listKind } from "../names.ts";

/** What an object is if it is no NCApp of the version that is read here, in words; undefined for one that is. */
export function otherKind(
  { apiVersion: version, kind: name, metadata }: { [name: string]: unknown },
): { message: string; foreign: boolean } | undefined {
  if (name === kind && version === apiVersion) return undefined;
  if (name === kind && typeof version === "string" && version.startsWith(`${group}/`)) {
    const message = `apiVersion ${quote(version)} is not known: this version reads ${apiVersion}`;
    return { message, foreign: false };
  }
  if (name === undefined || version === undefined) {
    return { message: "has no apiVersion or no kind", foreign: false };
  }
  const called = isObject(metadata) ? metadata.name : undefined;
  const shown = (value: unknown) => typeof value === "string" ? quote(value).slice(1, -1) : quote(value);
  const what = `${shown(name)} ${called === undefined ? "without a name" : quote(called)} (${
    shown(version)
  })`;
  const foreign = isForeignKind(name) && isForeignVersion(version) && typeof called === "string" &&
    called !== "";
  return { message: `${what} is not an ${kind} of ${apiVersion}${foreign ? "; skipped" : ""}`, foreign };
}

function isForeignKind(name: unknown): boolean {
  return typeof name === "string" && /^[A-Z][A-Za-z0-9]*$/.test(name) && !name.endsWith("List") &&
    closest(name, [kind, listKind]) === undefined;
}

function isForeignVersion(version: unknown): boolean {
  const form = typeof version === "string" ? /^(?:([a-z0-9.-]+)\/)?v[0-9][a-z0-9]*$/.exec(version) : null;
  return form !== null && closest(form[1] ?? "", [group]) === undefined;
}

/**
 * Classifies objects in a manifest that are not NCApps. Many belong there: a Namespace, a ConfigMap, or anything else that
 * kubectl applies from the same file.
 *
 * The agent stops an app that disappeared from a file only if it understands everything in the file. So `foreign` means
 * certainly not ours. A possibly misspelled NCApp is not foreign, nor is something that is not an object of its own, such
 * as a List without items or a Status that an API server returned instead of an answer.
 */
import { closest } from "../../lib/closest.ts";
import { isObject } from "../../lib/objects.ts";
import { quote } from "../field-error.ts";
import { apiVersion, apiVersions, group, kind, listKind, policyKind, setKind } from "../names.ts";
import { isValueHolder } from "./value-holder.ts";

/** Describes an object that is not an NCApp of a known version; undefined for one that is. */
export function otherKind(
  { apiVersion: version, kind: name, metadata }: { [name: string]: unknown },
): { message: string; foreign: boolean } | undefined {
  if (name === kind && isKnown(version)) return undefined;
  if (name === kind && typeof version === "string" && version.startsWith(`${group}/`)) {
    const message = `unknown apiVersion ${quote(version)}: use ${apiVersions.join(" or ")}`;
    return { message, foreign: false };
  }
  if (name === undefined || version === undefined) {
    const [field, value] = version === undefined ? ["apiVersion", apiVersion] : ["kind", kind];
    return { message: `has no ${field}: for an app, write ${field}: ${value}`, foreign: false };
  }
  const called = isObject(metadata) ? metadata.name : undefined;
  if ((name === setKind || name === policyKind) && isKnown(version) && typeof called === "string") {
    const message = `${name} ${quote(called)} needs a cluster: apply it with kubectl; skipped`;
    return { message, foreign: true };
  }
  if (isValueHolder({ apiVersion: version, kind: name }) && typeof called === "string" && called !== "") {
    const message =
      `${name} ${quote(called)} is not stored by this node: put it into the folder of --manifests for the ` +
      `apps there, or into the cluster with kubectl; skipped`;
    return { message, foreign: true };
  }
  const shown = (value: unknown) => typeof value === "string" ? quote(value).slice(1, -1) : quote(value);
  const what = `${shown(name)} ${called === undefined ? "without a name" : quote(called)} (${
    shown(version)
  })`;
  const foreign = isForeignKind(name) && isForeignVersion(version) && typeof called === "string" &&
    called !== "";
  const near = typeof name === "string" && name !== kind && closest(name, [kind, "Secret", "ConfigMap"]);
  const hint = foreign
    ? "; skipped"
    : near
    ? `; did you mean kind: ${near}?`
    : name === kind
    ? `; did you mean apiVersion: ${apiVersion}?`
    : "";
  return { message: `${what} is not an ${kind} of ${apiVersion}${hint}`, foreign };
}

/** Reports whether the object is an NCAppSet of a known version. */
export function isSet({ apiVersion: version, kind: name }: { [name: string]: unknown }): boolean {
  return name === setKind && isKnown(version);
}

function isKnown(version: unknown): boolean {
  return apiVersions.some((known) => known === version);
}

function isForeignKind(name: unknown): boolean {
  return typeof name === "string" && /^[A-Z][A-Za-z0-9]*$/.test(name) && !name.endsWith("List") &&
    closest(name, [kind, listKind, setKind]) === undefined;
}

function isForeignVersion(version: unknown): boolean {
  const form = typeof version === "string" ? /^(?:([a-z0-9.-]+)\/)?v[0-9][a-z0-9]*$/.exec(version) : null;
  return form !== null && closest(form[1] ?? "", [group]) === undefined;
}

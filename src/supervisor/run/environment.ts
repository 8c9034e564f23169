/**
 * The environment of an app: a clean one, then what the spec adds. Nothing of the agent's own gets in.
 */
import type { EnvVar } from "../../api/types.ts";
import { cleanPath, shellQuote } from "../../lib/shell.ts";
import type { Identity } from "../identity/identity.ts";
import { runMarker } from "../processes.ts";
import { StartError } from "../start-error.ts";
import type { RunnableApp } from "../types.ts";

export type Environment = Record<string, string>;

/** Looks up what `valueFrom` names; undefined where there is no such key and it is optional. */
export type ResolveValue = (app: RunnableApp, variable: EnvVar) => Promise<string | undefined>;

/** Setting these ends one shell or another: bash's read-only ones, and what dash reads as a number. */
const shellsOwn = new Set(["BASHOPTS", "BASH_VERSINFO", "EUID", "OPTIND", "PPID", "SHELLOPTS", "UID"]);

/** Builds the environment of one run. The spec may override all but the run's marker. */
export async function buildEnvironment(
  app: RunnableApp,
  { identity, nodeName, runId, resolve }: {
    identity: Identity;
    nodeName: string;
    runId: string;
    resolve: ResolveValue;
  },
): Promise<Environment> {
  const environment: Environment = {
    PATH: cleanPath,
    HOME: identity.home,
    USER: identity.user,
    LOGNAME: identity.user,
    LANG: "C.UTF-8",
    NCAPP_NAME: app.metadata.name,
    NCAPP_NAMESPACE: app.metadata.namespace ?? "default",
    NCAPP_UID: app.metadata.uid ?? "",
    NODE_NAME: nodeName,
  };
  for (const variable of app.spec.env ?? []) {
    const value = variable.valueFrom ? await resolve(app, variable) : variable.value ?? "";
    if (value === undefined) continue;
    if (shellsOwn.has(variable.name)) {
      throw new StartError(
        "InvalidEnvironment",
        `spec.env: ${variable.name}: a shell keeps this name to itself`,
      );
    }
    if (value.includes("\0")) {
      throw new StartError("InvalidEnvironment", `spec.env: ${variable.name}: the value holds a NUL byte`);
    }
    environment[variable.name] = value;
  }
  return { ...environment, [runMarker]: runId };
}

/** The environment as shell text that a POSIX `sh` evaluates to exactly these values. */
export function encodeEnvironment(environment: Environment): string {
  return Object.entries(environment).map(([name, value]) => `export ${name}=${shellQuote(value)}\n`).join("");
}

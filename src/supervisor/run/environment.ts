/** The environment of an app: a clean one plus `spec.envFile` and `spec.env`. Nothing from the agent's own environment gets in. */
import { Buffer } from "node:buffer";
import type { EnvVar } from "../../api/types.ts";
import { cleanPath, shellQuote } from "../../lib/shell.ts";
import type { Identity } from "../identity/identity.ts";
import { runMarker } from "../processes.ts";
import { type RunnableApp, StartError } from "../types.ts";

export type Environment = Record<string, string>;

/**
 * Resolves `valueFrom`; undefined if the key does not exist and is optional. `onNode`: only what this node has; a value that
 * another machine would have to be asked for is missing.
 */
export type ResolveValue = (
  app: RunnableApp,
  variable: EnvVar,
  options?: { onNode?: boolean },
) => Promise<string | undefined>;

/** Setting one of these ends some shell: bash's read-only variables, and those that dash parses as numbers. */
const reservedNames = new Set(["BASHOPTS", "BASH_VERSINFO", "EUID", "OPTIND", "PPID", "SHELLOPTS", "UID"]);

/** What execve accepts of one variable (MAX_ARG_STRLEN, less "=" and NUL), and of all at the most (three quarters of _STK_LIM). */
const maxVariableBytes = 131_070;
const maxBytes = 6 * 2 ** 20;

/** Builds the environment of one run. The spec may override everything except the run's marker. */
export async function buildEnvironment(
  app: RunnableApp,
  { identity, fromFile = [], nodeName, runId, resolve }: {
    identity: Identity;
    /** The variables of `spec.envFile`. */
    fromFile?: [name: string, value: string][];
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
  const own: [name: string, value: string][] = [];
  let total = 0;
  const add = (field: string, name: string, value: string) => {
    const refuse = (why: string) => new StartError("InvalidEnvironment", `${field}: ${why}`);
    if (reservedNames.has(name)) throw refuse(`${name} is reserved by the shell: use another name`);
    if (value.includes("\0")) throw refuse(`the value of ${name} contains a NUL byte`);
    const size = Buffer.byteLength(value) + name.length;
    total += size;
    if (size > maxVariableBytes || total > maxBytes) {
      const [what, most] = size > maxVariableBytes
        ? [`${name} has ${size} bytes`, maxVariableBytes]
        : [`${name} and the variables before it have ${total} bytes`, maxBytes];
      throw refuse(`${what}: Linux accepts at most ${most}`);
    }
    own.push([name, value]);
  };
  for (const [name, value] of fromFile) add("spec.envFile", name, value);
  for (const variable of app.spec.env ?? []) {
    const value = variable.valueFrom ? await resolve(app, variable) : variable.value ?? "";
    if (value !== undefined) add("spec.env", variable.name, value);
  }
  // An assignment to a field named __proto__ would set no variable.
  return { ...environment, ...Object.fromEntries(own), [runMarker]: runId };
}

/** The environment as shell text that a POSIX `sh` evaluates to exactly these values. */
export function encodeEnvironment(environment: Environment): string {
  return Object.entries(environment).map(([name, value]) => `export ${name}=${shellQuote(value)}\n`).join("");
}

import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { apiVersion, defaultNamespace, isSafeName, kind } from "../../api/names.ts";
import type { EnvVar, NCApp } from "../../api/types.ts";
import { spec as specSchema } from "../../api/schema/schema.ts";
import { validateNCApp } from "../../api/validate/validate.ts";
import { closest } from "../../lib/closest.ts";
import { explainPathError } from "../../lib/files.ts";
import { ownValue, withoutUndefined } from "../../lib/objects.ts";
import { type Flag, type Invocation, listFlag, textFlag, UsageError } from "../command.ts";
import { parseWholeNumber } from "../flag-values.ts";

/** The flags of `run` that become fields of the NCApp. */
export const manifestFlags: Record<string, Flag> = {
  name: { value: "NAME", help: "Name of the app.", default: "the name of the script" },
  namespace: { short: "n", value: "NAME", help: "Namespace of the app.", default: defaultNamespace },
  cpu: { value: "PERCENT", help: "CPU cap in percent of all CPUs of the node." },
  mem: { value: "PERCENT", help: "Memory cap in percent of the memory of the node." },
  "pids-max": { value: "N", help: "Maximum number of processes and threads.", default: "4096" },
  user: { value: "USER", help: "User to run as, by name or ID.", default: "the agent's user" },
  group: { value: "GROUP", help: "Group to run as, by name or ID.", default: "the user's group" },
  env: { list: true, short: "e", value: "K=V", help: "Environment variable; K alone takes your own value." },
  "env-file": { list: true, value: "FILE", help: "File of K=V lines; --env overrides it." },
  workdir: { short: "w", value: "DIR", help: "Working directory.", default: "the current one" },
  restart: {
    value: "POLICY",
    choices: ["always", "on-failure", "never"],
    help: "Restart always, on-failure or never.",
    default: "always",
  },
  grace: { value: "SECONDS", help: "Time from the start of a stop to SIGKILL.", default: "30" },
  "stop-signal": {
    value: "SIGNAL",
    help: "Signal that asks it to end, such as SIGQUIT.",
    default: "SIGTERM",
  },
  sha256: { value: "HEX", help: "Refuse to run a script with another SHA-256 digest." },
};

const policies: Record<string, "Always" | "OnFailure" | "Never"> = {
  always: "Always",
  onfailure: "OnFailure",
  never: "Never",
};

/** Returns the NCApp that the command line describes, with the variables of files. An invalid one is a UsageError. */
export function manifestOf(
  invocation: Invocation,
  env: Record<string, string | undefined>,
  { folder = resolve("."), fromFiles = [] }: { folder?: string; fromFiles?: EnvVar[] } = {},
): NCApp {
  const [script, ...args] = invocation.args;
  if (!script) throw new UsageError("no script is named: use nckubelet run SCRIPT");
  const text = (name: string) => textFlag(invocation, name);
  const number = (name: string, { maximum: max }: { maximum?: number }) => {
    const value = text(name);
    return value === undefined ? undefined : parseWholeNumber(name, value, { max });
  };
  const { pidsMax, terminationGracePeriodSeconds } = specSchema.properties;
  const isURL = /^https?:\/\//i.test(script);
  const given = listFlag(invocation, "env").map((word) => variableOf(word, env));
  const variables = [
    ...new Map([...fromFiles, ...given].map((variable) => [variable.name, variable])).values(),
  ];
  const app: NCApp = {
    apiVersion,
    kind,
    metadata: { name: text("name") ?? nameFrom(script), namespace: text("namespace") ?? defaultNamespace },
    spec: withoutUndefined({
      shellFile: isURL ? script : resolve(folder, script),
      shellFileSHA256: text("sha256"),
      args: args.length > 0 ? args : undefined,
      env: variables.length > 0 ? variables : undefined,
      workingDir: resolve(folder, text("workdir") ?? "."),
      runAsUser: text("user"),
      runAsGroup: text("group"),
      cpuPCT: text("cpu"),
      memPCT: text("mem"),
      pidsMax: number("pids-max", pidsMax),
      restartPolicy: policyOf(text("restart")),
      terminationGracePeriodSeconds: number("grace", terminationGracePeriodSeconds),
      stopSignal: signalOf(text("stop-signal")) as NCApp["spec"]["stopSignal"],
    }),
  };
  const problems = validateNCApp(app);
  if (problems.length > 0) throw new UsageError(problems.map(asFlag).join("\nnckubelet: "));
  return app;
}

/** Replaces the field in a validation error with the flag that set it. */
function asFlag({ field, message }: { field: string; message: string }): string {
  const flag = flagOf[field] ?? (/^spec\.env\[\d+\]\./.test(field) ? "--env" : undefined);
  return flag ? message.replace(field, flag) : message;
}

const flagOf: Record<string, string> = {
  "metadata.name": "--name",
  "metadata.namespace": "--namespace",
  "spec.shellFile": "SCRIPT",
  "spec.shellFileSHA256": "--sha256",
  "spec.workingDir": "--workdir",
  "spec.runAsUser": "--user",
  "spec.runAsGroup": "--group",
  "spec.cpuPCT": "--cpu",
  "spec.memPCT": "--mem",
  "spec.pidsMax": "--pids-max",
  "spec.terminationGracePeriodSeconds": "--grace",
  "spec.stopSignal": "--stop-signal",
};

/** Checks that the script exists before the agent does, so that a typo is reported at once with a similar file name. */
export async function checkScript(path: string, searchPath = ""): Promise<void> {
  if (!path.startsWith("/")) return;
  try {
    if ((await stat(path)).isFile()) return;
  } catch (cause) {
    const beside = await readdir(dirname(path)).catch(() => []);
    const near = closest(basename(path), beside.filter((name) => name !== basename(path)));
    const [first = "", ...rest] = path.split(/\s+/).filter(Boolean);
    const places = searchPath.split(":").filter((folder) => folder.startsWith("/")).slice(0, 64);
    const onPath = places.map((folder) => join(folder, basename(path))).find((place) => existsSync(place));
    const isLine = rest.length > 0 && (await stat(first).catch(() => undefined))?.isFile();
    const hint = isLine
      ? `; ${first} is a file: write the arguments behind --, as in nckubelet run ${first} -- ${
        rest.join(" ")
      }`
      : onPath
      ? `; did you mean ${onPath}?`
      : near
      ? `; did you mean ${resolve(dirname(path), near)}?`
      : "";
    const why = await explainPathError(path, cause);
    throw new UsageError(`${path}: ${why}${hint}`, { cause });
  }
  throw new UsageError(`${path}: not a file`);
}

/** `/srv/My Server.sh` becomes `my-server`. */
function nameFrom(script: string): string {
  const file = basename(script.replace(/[?#].*$/, ""));
  const name = file.replace(/\.[^.]*$/, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  if (isSafeName(name)) return name;
  if (/(^|\/)\.{0,2}$/.test(script)) throw new UsageError(`${script} is a folder: name a script`);
  throw new UsageError(`${JSON.stringify(script)} cannot be the name of an app: choose one with --name`);
}

function variableOf(word: string, env: Record<string, string | undefined>): EnvVar {
  const equals = word.indexOf("=");
  if (equals >= 0) return { name: word.slice(0, equals), value: word.slice(equals + 1) };
  const value = ownValue(env, word);
  if (value === undefined) {
    throw new UsageError(`--env ${word}: not set in your environment; use ${word}=VALUE`);
  }
  return { name: word, value };
}

/** `quit` becomes `SIGQUIT`, as for kill(1); the schema has the names. */
function signalOf(text: string | undefined): string | undefined {
  return text && `SIG${text.toUpperCase().replace(/^SIG/, "")}`;
}

function policyOf(text: string | undefined) {
  if (text === undefined) return undefined;
  const policy = ownValue(policies, text.toLowerCase().replace("-", ""));
  if (!policy) throw new UsageError(`--restart ${JSON.stringify(text)}: use always, on-failure or never`);
  return policy;
}

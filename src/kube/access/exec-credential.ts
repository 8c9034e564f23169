/**
 * Credentials from a plugin: a command that prints an ExecCredential.
 *
 * Guarantees: the plugin gets KUBERNETES_EXEC_INFO and an empty standard input; it is killed after `timeoutMs`; an error shows its
 * stderr, never its stdout, which contains the token.
 * client-node 2.0.1 runs plugins too, but without any of this, and it does not reveal when the credential expires.
 */
import { execFile } from "node:child_process";
import { dirname, resolve } from "node:path";
import { isFields, type KubeconfigEntry, listOf, textField } from "./kubeconfig-files.ts";
import type { Environment } from "./proxy.ts";

export interface ExecCredential {
  token?: string;
  certificate?: { cert: string; key: string };
  /** Milliseconds since the epoch; absent: valid until rejected. */
  expiresAt?: number;
}

export interface ExecPlugin {
  apiVersion: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  installHint?: string;
  provideClusterInfo: boolean;
}

export interface ExecOptions {
  /** What the plugin gets to know about the cluster, if its entry requests it. */
  clusterInfo?: unknown;
  env: Environment;
  timeoutMs?: number;
}

const supported = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/** Reads the `exec` of a user. */
export function readExecPlugin(exec: unknown, { path, at: userAt }: KubeconfigEntry): ExecPlugin {
  const at = `${userAt}: exec`;
  if (!isFields(exec)) throw new Error(`${at} is not a map`);
  const command = textField(exec, "command", at);
  if (!command) throw new Error(`${at} has no command`);
  if (textField(exec, "interactiveMode", at) === "Always") {
    throw new Error(`${at}: interactiveMode Always is not supported: the plugin would have no terminal`);
  }
  const apiVersion = textField(exec, "apiVersion", at) ?? "";
  if (!supported.includes(apiVersion)) {
    throw new Error(`${at}: apiVersion ${JSON.stringify(apiVersion)} is not supported`);
  }
  const env = listOf(exec.env).map((item): [string, string] => {
    const name = textField(item, "name", `${at}.env`) ?? "";
    return [name, textField(item, "value", `${at}.env ${JSON.stringify(name)}`) ?? ""];
  });
  return {
    apiVersion,
    // A bare name is found by PATH; one with a slash is relative to the kubeconfig.
    command: command.includes("/") ? resolve(dirname(path), command) : command,
    args: Array.isArray(exec.args) ? exec.args.map((word) => argument(word, at)) : [],
    env: Object.fromEntries(env.filter(([name]) => name)),
    installHint: textField(exec, "installHint", at),
    provideClusterInfo: exec.provideClusterInfo === true,
  };
}

export async function runExecPlugin(
  plugin: ExecPlugin,
  { clusterInfo, env, timeoutMs = 60_000 }: ExecOptions,
): Promise<ExecCredential> {
  const info = {
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, cluster: clusterInfo },
  };
  const childEnv = { ...env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  return parseCredential(await runCommand(plugin, childEnv, timeoutMs), plugin);
}

/** Numbers and booleans are words without quotes; anything else is not an argument. */
function argument(word: unknown, at: string): string {
  if (["string", "number", "boolean"].includes(typeof word)) return String(word);
  throw new Error(`${at}.args: must be strings, not a ${typeof word}`);
}

export function parseCredential(stdout: string, plugin: ExecPlugin): ExecCredential {
  const fail = (what: string) => new Error(`exec plugin ${plugin.command} printed ${what}`);
  const printed = parseJson(stdout);
  const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 100);
  if (printed?.kind !== "ExecCredential") throw fail("no ExecCredential");
  if (printed.apiVersion !== plugin.apiVersion) {
    throw fail(`apiVersion ${shown(printed.apiVersion)}, but ${plugin.apiVersion} was requested`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = printed.status ??
    {};
  for (const [field, value] of Object.entries({ token, cert, key, expirationTimestamp })) {
    if (value !== undefined && typeof value !== "string") throw fail(`a ${field} that is not a string`);
  }
  if (!token && !(cert && key)) {
    throw fail("an ExecCredential with neither a token nor a certificate with its key");
  }
  const expiresAt = expirationTimestamp === undefined ? undefined : Date.parse(expirationTimestamp);
  if (Number.isNaN(expiresAt)) throw fail(`the expirationTimestamp ${shown(expirationTimestamp)}`);
  return { token, certificate: cert && key ? { cert, key } : undefined, expiresAt };
}

interface Printed {
  kind?: string;
  apiVersion?: string;
  status?: {
    token?: string;
    clientCertificateData?: string;
    clientKeyData?: string;
    expirationTimestamp?: string;
  };
}

function parseJson(text: string): Printed | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function runCommand(plugin: ExecPlugin, env: Environment, timeoutMs: number): Promise<string> {
  const options = {
    env,
    timeout: timeoutMs,
    killSignal: "SIGKILL" as const,
    maxBuffer: 1 << 20,
    encoding: "utf8" as const,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(plugin.command, plugin.args, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const why = error.code === "ENOENT"
        ? `not found. ${plugin.installHint ?? ""}`
        : error.killed
        ? `no answer within ${timeoutMs} ms`
        : `exit code ${error.code}`;
      // Not passed on as the cause: the error of execFile contains stdout.
      reject(
        new Error(
          `exec plugin ${plugin.command}: ${why.trim()}${stderr ? `: ${stderr.trim().slice(-2000)}` : ""}`,
        ),
      );
    });
    child.stdin?.end();
  });
}

/**
 * Credentials from a plugin: a command that prints an ExecCredential.
 *
 * Guarantees: the command runs once for all waiting callers, and again only after its credential expired or was rejected; it
 * is killed after `timeoutMs`; an error shows its stderr, never its stdout, which contains the token.
 */
import { execFile } from "node:child_process";
import type { Environment } from "./proxy.ts";
import type { ExecPlugin } from "./kubeconfig.ts";

export interface ExecCredential {
  token?: string;
  certificate?: { cert: string; key: string };
  /** Milliseconds since the epoch; absent: valid until rejected. */
  expiresAt?: number;
}

export interface ExecCredentialSource {
  get(): Promise<ExecCredential>;
  /** The server rejected the credential: the next `get()` runs the command. */
  forget(): void;
}

export interface ExecOptions {
  /** What the plugin gets to know about the cluster, if its entry requests it. */
  clusterInfo?: unknown;
  env: Environment;
  now?: () => number;
  run?: typeof runCommand;
  timeoutMs?: number;
}

const supported = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

export function execCredentialSource(
  plugin: ExecPlugin,
  { clusterInfo, env, now = Date.now, run = runCommand, timeoutMs = 60_000 }: ExecOptions,
): ExecCredentialSource {
  if (!supported.includes(plugin.apiVersion)) {
    throw new Error(
      `exec plugin ${plugin.command}: apiVersion ${JSON.stringify(plugin.apiVersion)} is not supported`,
    );
  }
  const info = {
    apiVersion: plugin.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, cluster: clusterInfo },
  };
  const childEnv = { ...env, ...plugin.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  let known: ExecCredential | undefined;
  let running: Promise<ExecCredential> | undefined;

  const fetch = async () => {
    known = parseCredential(await run(plugin, childEnv, timeoutMs), plugin);
    return known;
  };
  return {
    async get() {
      if (known && (known.expiresAt === undefined || now() < known.expiresAt)) return known;
      running ??= fetch().finally(() => running = undefined);
      return await running;
    },
    forget() {
      known = undefined;
    },
  };
}

function parseCredential(stdout: string, plugin: ExecPlugin): ExecCredential {
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

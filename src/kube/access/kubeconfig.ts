/**
 * Reads a kubeconfig file: the server, its certificate authority, and the user.
 *
 * Guarantees: a field that is not supported is an error that names it, never ignored silently; no message contains a token, a
 * password or a key. Relative paths are relative to the file, as in kubectl.
 * Caveats: one file, not a merged list; `auth-provider` and impersonation are rejected.
 */
import { Buffer } from "node:buffer";
import { dirname, resolve } from "node:path";
import { load } from "js-yaml";

/** The cluster and the user of one context. */
export interface KubeconfigChoice {
  context: string;
  namespace?: string;
  cluster: KubeconfigCluster;
  user: KubeconfigUser;
}

export interface KubeconfigCluster {
  server: string;
  ca?: Material;
  tlsServerName?: string;
  insecureSkipTlsVerify: boolean;
  proxyUrl?: string;
  /** What `exec` plugins with `provideClusterInfo` get as their config. */
  execConfig?: unknown;
}

export interface KubeconfigUser {
  token?: string;
  tokenFile?: string;
  username?: string;
  password?: string;
  certificate?: { cert: Material; key: Material };
  exec?: ExecPlugin;
}

/** A PEM text: given inline, or in a file that is read again when it changes. */
export type Material = { pem: string } | { file: string };

export interface ExecPlugin {
  apiVersion: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  installHint?: string;
  provideClusterInfo: boolean;
}

type Fields = Record<string, unknown>;

/** Reads the current context, or the named one, from a kubeconfig's text. */
export function parseKubeconfig(text: string, path: string, contextName?: string): KubeconfigChoice {
  const config = parseYaml(text, path);
  const name = contextName || stringField(config, "current-context", path);
  if (!name) throw new Error(`${path}: no current-context, and no other context was given`);

  const at = `${path}: context ${inQuotes(name)}`;
  const context = named(config, "contexts", "context", name, path);
  const clusterName = stringField(context, "cluster", at);
  if (!clusterName) throw new Error(`${at} names no cluster`);
  const userName = stringField(context, "user", at);

  return {
    context: name,
    namespace: stringField(context, "namespace", at),
    cluster: readCluster(named(config, "clusters", "cluster", clusterName, path), clusterName, path),
    user: userName ? readUser(named(config, "users", "user", userName, path), userName, path) : {},
  };
}

function parseYaml(text: string, path: string): Fields {
  let config: unknown;
  try {
    config = load(text);
  } catch (error) {
    // The parser's own message quotes the lines around the error, which may contain a token.
    const line = (error as { mark?: { line?: number } }).mark?.line;
    throw new Error(`${path}: not valid YAML${line === undefined ? "" : ` at line ${line + 1}`}`);
  }
  if (!isFields(config)) throw new Error(`${path}: not a kubeconfig`);
  return config;
}

function readCluster(cluster: Fields, name: string, path: string): KubeconfigCluster {
  const at = `${path}: cluster ${inQuotes(name)}`;
  const server = stringField(cluster, "server", at);
  if (!server) throw new Error(`${at} has no server`);
  return {
    server,
    ca: material(cluster, "certificate-authority", at, path),
    tlsServerName: stringField(cluster, "tls-server-name", at),
    insecureSkipTlsVerify: cluster["insecure-skip-tls-verify"] === true,
    proxyUrl: stringField(cluster, "proxy-url", at),
    execConfig: extension(cluster, "client.authentication.k8s.io/exec"),
  };
}

function readUser(user: Fields, name: string, path: string): KubeconfigUser {
  const at = `${path}: user ${inQuotes(name)}`;
  for (const unsupported of ["auth-provider", "as", "as-uid", "as-groups", "as-user-extra"]) {
    if (user[unsupported] !== undefined) throw new Error(`${at}: ${unsupported} is not supported`);
  }
  const cert = material(user, "client-certificate", at, path);
  const key = material(user, "client-key", at, path);
  if (!cert !== !key) {
    throw new Error(
      `${at} has ${cert ? "client-certificate but no client-key" : "client-key but no client-certificate"}`,
    );
  }
  const tokenFile = stringField(user, "tokenFile", at);
  return {
    token: stringField(user, "token", at),
    tokenFile: tokenFile && resolve(dirname(path), tokenFile),
    username: stringField(user, "username", at),
    password: stringField(user, "password", at),
    certificate: cert && key ? { cert, key } : undefined,
    exec: isFields(user.exec) ? readExec(user.exec, `${at}: exec`, path) : undefined,
  };
}

function readExec(exec: Fields, at: string, path: string): ExecPlugin {
  const command = stringField(exec, "command", at);
  if (!command) throw new Error(`${at} has no command`);
  if (stringField(exec, "interactiveMode", at) === "Always") {
    throw new Error(`${at}: interactiveMode Always is not supported: the plugin would have no terminal`);
  }
  const env: Record<string, string> = {};
  for (const item of list(exec.env)) {
    const name = stringField(item, "name", `${at}.env`);
    if (name) env[name] = stringField(item, "value", `${at}.env ${inQuotes(name)}`) ?? "";
  }
  return {
    apiVersion: stringField(exec, "apiVersion", at) ?? "",
    // A bare name is found by PATH; one with a slash is relative to the kubeconfig.
    command: command.includes("/") ? resolve(dirname(path), command) : command,
    args: Array.isArray(exec.args) ? exec.args.map((word) => argument(word, at)) : [],
    env,
    installHint: stringField(exec, "installHint", at),
    provideClusterInfo: exec.provideClusterInfo === true,
  };
}

/** Numbers and booleans are words without quotes; anything else is not an argument. */
function argument(word: unknown, at: string): string {
  if (["string", "number", "boolean"].includes(typeof word)) return String(word);
  throw new Error(`${at}.args: must be strings, not a ${typeof word}`);
}

/** The inline form wins over the file, as in kubectl. */
function material(fields: Fields, name: string, at: string, path: string): Material | undefined {
  const data = stringField(fields, `${name}-data`, at);
  if (data) {
    const pem = Buffer.from(data, "base64").toString("utf8");
    if (!pem.includes("-----BEGIN ")) throw new Error(`${at}: ${name}-data is not base64 of a PEM text`);
    return { pem };
  }
  const file = stringField(fields, name, at);
  return file ? { file: resolve(dirname(path), file) } : undefined;
}

function named(config: Fields, listName: string, field: string, name: string, path: string): Fields {
  const found = list(config[listName]).find((item) => item.name === name);
  if (!found) throw new Error(`${path}: ${listName} has none named ${inQuotes(name)}`);
  const value = found[field] ?? {};
  if (!isFields(value)) throw new Error(`${path}: ${field} ${inQuotes(name)} is not a map`);
  return value;
}

function extension(cluster: Fields, name: string): unknown {
  return list(cluster.extensions).find((item) => item.name === name)?.extension;
}

function stringField(fields: Fields, name: string, at: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") {
    throw new Error(`${at}: ${name} must be a string (put it in quotes), not a ${typeof value}`);
  }
  return value;
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Quotes a name for a message. The beginning of a long name is enough to recognize it. */
function inQuotes(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}

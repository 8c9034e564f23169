/**
 * Reads one kubeconfig, or a list like `KUBECONFIG=a:b`, and chooses a context.
 *
 * Guarantees: errors name the file and the field, and contain no token, password or key. Entries that the context does not use may
 * be invalid, as in kubectl.
 * client-node 2.0.1 reads lists, too, but rejects names that occur twice and files that are missing, lets the last file choose the
 * context, and drops fields; its YAML errors quote the lines around the error. test/kube/access/client-node.test.ts shows it.
 */
import { load } from "js-yaml";
import { readFile } from "node:fs/promises";
import { delimiter, dirname, resolve } from "node:path";
import { errorCode, explainFileError } from "../../lib/files.ts";

export type Fields = Record<string, unknown>;

/** One entry of a kubeconfig: its fields as they are written, with absolute paths, and where. */
export interface KubeconfigEntry {
  name: string;
  fields: Fields;
  path: string;
  /** Begins a message about the entry. */
  at: string;
}

export interface ChosenContext {
  name: string;
  context: KubeconfigEntry;
  cluster: KubeconfigEntry;
  user: KubeconfigEntry;
}

/** Reads the files and chooses the named context, or the current one. */
export async function chooseContext(
  paths: string[],
  contextName?: string,
  read: (path: string) => Promise<string> = (path) => readFile(path, "utf8"),
): Promise<ChosenContext> {
  const files = (await Promise.all(paths.map((path) => readKubeconfig(path, paths.length > 1, read))))
    .filter((file) => file !== undefined);
  const names = paths.join(delimiter);
  if (files.length === 0) throw new Error(`cannot read kubeconfig ${names}: none of the files exists`);
  for (const { path, fields } of files) checkStrings({ fields, at: path }, ["current-context"]);
  // The first file with an entry of a name, or with a current-context, wins; nothing is merged within an entry.
  const name = contextName || files.map(({ fields }) => fields["current-context"] as string).find(Boolean);
  if (!name) throw new Error(`${names}: no current-context, and no other context was given`);

  const context = findEntry(files, "contexts", "context", name, names);
  checkStrings(context, ["cluster", "user", "namespace"]);
  const { cluster: clusterName, user: userName } = context.fields as { cluster?: string; user?: string };
  if (!clusterName) throw new Error(`${context.at} names no cluster`);
  const cluster = findEntry(files, "clusters", "cluster", clusterName, names);
  checkStrings(cluster, [
    ...["server", "tls-server-name", "proxy-url", "certificate-authority", "certificate-authority-data"],
  ]);
  if (!cluster.fields.server) throw new Error(`${cluster.at} has no server`);
  const user = userName
    ? findEntry(files, "users", "user", userName, names)
    : { ...context, name: "", fields: {} };
  checkStrings(user, [
    ...["token", "tokenFile", "username", "password", "as", "as-uid"],
    ...["client-certificate", "client-certificate-data", "client-key", "client-key-data"],
  ]);
  return { name, context, cluster, user };
}

interface KubeconfigFile {
  path: string;
  fields: Fields;
}

/** In a list, a file may be missing, as in kubectl. */
async function readKubeconfig(
  path: string,
  mayBeMissing: boolean,
  read: (path: string) => Promise<string>,
): Promise<KubeconfigFile | undefined> {
  let text;
  try {
    text = await read(path);
  } catch (cause) {
    if (mayBeMissing && errorCode(cause) === "ENOENT") return undefined;
    throw new Error(`cannot read kubeconfig ${path}: ${explainFileError(cause)}`, { cause });
  }
  return { path, fields: parseYaml(text, path) };
}

function parseYaml(text: string, path: string): Fields {
  let fields: unknown;
  try {
    fields = load(text);
  } catch (error) {
    const line = (error as { mark?: { line?: number } }).mark?.line;
    throw new Error(`${path}: not valid YAML${line === undefined ? "" : ` at line ${line + 1}`}`);
  }
  if (!isFields(fields)) throw new Error(`${path}: not a kubeconfig`);
  return fields;
}

function findEntry(
  files: KubeconfigFile[],
  list: string,
  field: string,
  name: string,
  names: string,
): KubeconfigEntry {
  for (const { path, fields } of files) {
    const found = listOf(fields[list]).find((item) => item.name === name);
    if (!found) continue;
    const value = found[field] ?? {};
    if (!isFields(value)) throw new Error(`${path}: ${field} ${inQuotes(name)} is not a map`);
    return { name, fields: withPaths(value, path), path, at: `${path}: ${field} ${inQuotes(name)}` };
  }
  throw new Error(`${names}: ${list} has none named ${inQuotes(name)}`);
}

/** Paths are relative to the file that has them. An inline form overrides a file; client-node prefers the file. */
function withPaths(entry: Fields, path: string): Fields {
  const fields = { ...entry };
  for (const name of ["certificate-authority", "client-certificate", "client-key", "tokenFile"]) {
    const file = fields[name];
    if (fields[`${name}-data`]) delete fields[name];
    else if (file && typeof file === "string") fields[name] = resolve(dirname(path), file);
  }
  return fields;
}

function checkStrings({ fields, at }: Pick<KubeconfigEntry, "fields" | "at">, names: string[]): void {
  for (const name of names) textField(fields, name, at);
}

/** YAML takes a token like 123456 for a number, and a long one would lose digits. */
export function textField(fields: Fields, name: string, at: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new Error(`${at}: ${name} must be a string (put it in quotes), not a ${typeof value}`);
}

export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Quotes a name for a message. The beginning of a long name is enough to recognize it. */
function inQuotes(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}

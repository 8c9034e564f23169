/** Kubeconfigs, plugins and an OIDC issuer for tests. */
import { Buffer } from "node:buffer";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempFolder } from "../../temp-folder.ts";

export const base64 = (text: string) => Buffer.from(text).toString("base64");

/** A kubeconfig with one context; `user` and `cluster` are the fields of its entries in YAML's flow style. */
export const kubeconfig = (user: string, cluster = 'server: "https://k8s.test:6443"') => `
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: shop}}]
clusters: [{name: k, cluster: {${cluster}}}]
users: [{name: u, user: {${user}}}]
`;

/** Writes files to a temporary folder during `use`. */
export async function withFiles(
  files: Record<string, string>,
  use: (at: (name: string) => string) => Promise<void>,
): Promise<void> {
  using temp = tempFolder();
  const at = (name: string) => join(temp.path, name);
  for (const [name, content] of Object.entries(files)) {
    await writeFile(at(name), content, { mode: content.startsWith("#!") ? 0o755 : 0o600 });
  }
  await use(at);
}

/** Replaces a file atomically, as writers of tokens do. */
export async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

export const execVersion = "client.authentication.k8s.io/v1";

/** What a plugin prints. */
export const printed = (status: Record<string, unknown>, version = execVersion) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion: version, status });

/** The `exec` of a user, for a plugin in the folder of the kubeconfig. */
export const execUser = (more = "") => `exec: {apiVersion: ${execVersion}, command: ./plugin${more}}`;

/** A JSON Web Token that is signed by no one. */
export function jwt(claims: Record<string, unknown>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256", typ: "JWT" })}.${part(claims)}.c2lnbmF0dXJl`;
}

/**
 * Resolves a kubeconfig with client-node: the server, and what authenticates the user there. This loads 10 MB of modules, so
 * long-running processes do it in a child process (resolve-in-child.ts).
 *
 * Guarantees: an invalid kubeconfig rejects at once, with the file and the field; a credential that cannot be had rejects the
 * `credentials` only. No error contains a secret.
 */
import { readFile } from "node:fs/promises";
import { applyConfig } from "./apply-config.ts";
import { type AuthMethod, chooseMethod, describeMethod, referencedFiles } from "./auth-method.ts";
import { type ExecCredential, runExecPlugin } from "./exec-credential.ts";
import { impersonationHeaders } from "./impersonation.ts";
import { chooseContext, type ChosenContext, type KubeconfigEntry, listOf } from "./kubeconfig-files.ts";
import { currentIdToken, saveTokens } from "./oidc.ts";
import { type Environment, parseProxy } from "./proxy.ts";
import { type Credentials, type Resolution, splitKubeconfig, stampFiles } from "./resolution.ts";

export interface ResolveOptions {
  /** A file, or a list of them as in KUBECONFIG. */
  kubeconfig: string;
  /** Default: the current context. */
  context?: string;
  /** The server did not accept the last credential. */
  rejected?: boolean;
  /** For plugins and the proxy to an issuer. */
  env?: Environment;
}

export async function resolveKubeconfig(options: ResolveOptions): Promise<Resolution> {
  const paths = splitKubeconfig(options.kubeconfig);
  // Before they are read, so that a change meanwhile is noticed.
  const ownFiles = await stampFiles(paths);
  const chosen = await chooseContext(paths, options.context);
  const { name, context, cluster, user } = chosen;
  const proxyUrl = cluster.fields["proxy-url"] as string || undefined;
  if (proxyUrl) parseProxy(proxyUrl, `${cluster.at}: proxy-url`);
  const method = chooseMethod(user);
  const impersonation = impersonationHeaders(user);
  const files = [...ownFiles, ...await stampFiles(referencedFiles(cluster, user, method))];
  const credentials = fetchCredential(chosen, method, options).then(
    async ({ saved, warning, ...credential }) => {
      const { headers, ...rest } = await applyConfig(chosen, method, credential);
      return { headers: { ...headers, ...impersonation }, ...rest, saved, warning };
    },
  );
  credentials.catch(() => {});
  return {
    target: {
      context: `context ${JSON.stringify(name)} of ${context.path}`,
      kind: describeMethod(user, method),
      server: cluster.fields.server as string,
      namespace: context.fields.namespace as string || undefined,
      proxyUrl,
      files,
    },
    credentials,
  };
}

type FetchedCredential = ExecCredential & Pick<Credentials, "saved" | "warning">;

/** Gets what client-node cannot get; exec-credential.ts and oidc.ts say why. */
async function fetchCredential(
  { cluster, user }: ChosenContext,
  method: AuthMethod,
  { env = {}, rejected = false }: ResolveOptions,
): Promise<FetchedCredential> {
  if (method.is === "exec plugin") {
    const clusterInfo = method.plugin.provideClusterInfo ? await describeCluster(cluster) : undefined;
    return await runExecPlugin(method.plugin, { clusterInfo, env });
  }
  if (method.is !== "OIDC issuer") return {};
  const { idToken: token, expiresAt, refreshed } = await currentIdToken(method.provider, { rejected, env });
  return { token, expiresAt, ...(refreshed && await save(user, { "id-token": token, ...refreshed })) };
}

/** What a plugin with `provideClusterInfo` gets. */
async function describeCluster({ fields }: KubeconfigEntry): Promise<unknown> {
  const file = fields["certificate-authority"] as string | undefined;
  const ca = fields["certificate-authority-data"] ?? (file && await readFile(file, "base64"));
  return {
    server: fields.server,
    "tls-server-name": fields["tls-server-name"],
    "insecure-skip-tls-verify": fields["insecure-skip-tls-verify"] === true || undefined,
    "certificate-authority-data": ca,
    "proxy-url": fields["proxy-url"],
    config: listOf(fields.extensions).find(({ name }) => name === "client.authentication.k8s.io/exec")
      ?.extension,
  };
}

/** A kubeconfig that cannot be written is a problem only if the issuer replaced the refresh token. */
async function save(
  { path, name }: KubeconfigEntry,
  tokens: { "id-token": string; "refresh-token"?: string },
): Promise<Pick<Credentials, "saved" | "warning">> {
  try {
    await saveTokens(path, name, tokens);
    const [saved] = await stampFiles([path]);
    return { saved };
  } catch (error) {
    if (!tokens["refresh-token"]) return {};
    const why = (error as Error).message;
    return { warning: `cannot save the new refresh token: ${why}; the issuer may reject the old one` };
  }
}

/**
 * How to reach the API server and with which identity: from a kubeconfig, from flags, or from the Pod's service account.
 *
 * Guarantees: tokens and certificates in files are read again when they change, plugins run again when their credential
 * expires; `describe()` and errors contain no secret.
 * Caveat: the kubeconfig itself is read once. To apply a changed one, restart the agent; apps keep running.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Identity, identityOf, reader } from "./identity.ts";
import { type KubeconfigChoice, type Material, parseKubeconfig } from "./kubeconfig.ts";
import { type Environment, parseProxy, proxyFromEnvironment } from "./proxy.ts";

export { changingFile } from "./changing-file.ts";

export interface KubeAccess {
  /** Without credentials; its path, if any, comes before every API path. */
  readonly server: URL;
  /** The namespace of the context or of the Pod. */
  readonly namespace?: string;
  readonly proxy?: URL;
  /** Server and kind of identity, for users; no secrets. */
  describe(): string;
  authorize(): Promise<{ headers: Record<string, string> }>;
  /** Returns the same object as before if nothing changed. */
  tls(): Promise<TlsMaterial>;
  /** Drops cached credentials, after a 401. */
  refresh(): void;
}

export interface TlsMaterial {
  ca?: string;
  cert?: string;
  key?: string;
  servername?: string;
  rejectUnauthorized: boolean;
}

export interface AccessOptions {
  kubeconfig?: string;
  /** Default: the current context. */
  context?: string;
  /** Address of the server; overrides the kubeconfig's. */
  server?: string;
  token?: string;
  tokenFile?: string;
  caFile?: string;
  insecureSkipTlsVerify?: boolean;
  /** For proxies, plugins and the server's address in a Pod. */
  env?: Environment;
  serviceAccountDir?: string;
  now?: () => number;
}

/** Finds the way to the API server. Throws an error that names what is missing or wrong. */
export async function loadAccess(options: AccessOptions): Promise<KubeAccess> {
  const choice = await choose(options);
  const server = parseServer(choice.cluster.server);
  const identity = identityOf(choice.user, {
    clusterInfo: choice.user.exec?.provideClusterInfo ? await clusterInfo(choice) : undefined,
    env: options.env ?? {},
    now: options.now,
  });
  const proxy = choice.cluster.proxyUrl
    ? parseProxy(choice.cluster.proxyUrl, "proxy-url")
    : proxyFromEnvironment(server, options.env ?? {});
  return {
    server,
    namespace: choice.namespace,
    proxy,
    describe: () =>
      `${server.origin}${server.pathname.replace(/\/$/, "")} (${choice.context}, ${identity.kind})`,
    authorize: async () => ({ headers: await identity.headers() }),
    tls: tlsOf(choice, identity),
    refresh: () => identity.refresh(),
  };
}

async function choose(options: AccessOptions): Promise<KubeconfigChoice> {
  const base = options.kubeconfig
    ? await fromKubeconfig(options.kubeconfig, options.context)
    : options.server
    ? { context: "--server", cluster: { server: options.server, insecureSkipTlsVerify: false }, user: {} }
    : await fromServiceAccount(options);
  const { server, token, tokenFile, caFile, insecureSkipTlsVerify } = options;
  return {
    ...base,
    cluster: {
      ...base.cluster,
      ...(server && { server }),
      ...(caFile && { ca: { file: caFile } }),
      ...(insecureSkipTlsVerify && { insecureSkipTlsVerify }),
    },
    user: token || tokenFile ? { token, tokenFile } : base.user,
  };
}

async function fromKubeconfig(path: string, context: string | undefined): Promise<KubeconfigChoice> {
  let text;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new Error(`cannot read kubeconfig ${path}: ${(cause as Error).message}`, { cause });
  }
  const choice = parseKubeconfig(text, path, context);
  return { ...choice, context: `context ${JSON.stringify(choice.context)} of ${path}` };
}

async function fromServiceAccount(options: AccessOptions): Promise<KubeconfigChoice> {
  const dir = options.serviceAccountDir ?? "/var/run/secrets/kubernetes.io/serviceaccount";
  const host = options.env?.KUBERNETES_SERVICE_HOST;
  if (!host) {
    throw new Error(
      "no way to the API server: give a kubeconfig or a server, or run in a Pod with a service account; " +
        "'nckubelet agent --standalone' needs no cluster",
    );
  }
  const port = options.env?.KUBERNETES_SERVICE_PORT || "443";
  return {
    context: "service account",
    namespace: await readFile(join(dir, "namespace"), "utf8").then((text) => text.trim(), () => undefined),
    cluster: {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      ca: { file: join(dir, "ca.crt") },
      insecureSkipTlsVerify: false,
    },
    user: { tokenFile: join(dir, "token") },
  };
}

function parseServer(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    throw new Error(`the server must be an http:// or https:// address, not ${JSON.stringify(text)}`);
  }
  if (url.username || url.password) {
    throw new Error(`the address of the server ${url.host} must not hold a password`);
  }
  url.search = url.hash = "";
  return url;
}

function tlsOf({ cluster }: KubeconfigChoice, identity: Identity): () => Promise<TlsMaterial> {
  const ca = cluster.ca && reader(cluster.ca, "certificate authority");
  let last: TlsMaterial | undefined;
  return async () => {
    const next: TlsMaterial = {
      ca: await ca?.read(),
      ...await identity.certificate(),
      servername: cluster.tlsServerName,
      rejectUnauthorized: !cluster.insecureSkipTlsVerify,
    };
    if (!last || last.ca !== next.ca || last.cert !== next.cert || last.key !== next.key) last = next;
    return last;
  };
}

async function clusterInfo({ cluster }: KubeconfigChoice): Promise<unknown> {
  return {
    server: cluster.server,
    "tls-server-name": cluster.tlsServerName,
    "insecure-skip-tls-verify": cluster.insecureSkipTlsVerify || undefined,
    "certificate-authority-data": cluster.ca && await base64(cluster.ca),
    "proxy-url": cluster.proxyUrl,
    config: cluster.execConfig,
  };
}

async function base64(material: Material): Promise<string> {
  return btoa(await reader(material, "certificate authority").read());
}

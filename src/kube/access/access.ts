/**
 * How to reach the API server and with which identity: from a kubeconfig, from flags, or from the Pod's service account.
 *
 * Guarantees: tokens and certificates in files are read again when they change, plugins run again when their credential
 * expires; `describe()` and errors contain no secret. A changed kubeconfig is used without a restart, unless it names another server
 * (credential-cache.ts).
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { certificateExpiry, tokenExpiry } from "./expiry.ts";
import type { Logger } from "../../lib/log.ts";
import { changingFile } from "./changing-file.ts";
import { createCredentialCache } from "./credential-cache.ts";
import { type Environment, parseProxy, proxyFromEnvironment } from "./proxy.ts";
import {
  bootstrapKind,
  type Credentials,
  type Headers,
  type Resolve,
  type Target,
  type TlsMaterial,
} from "./resolution.ts";
import { resolveInChild, writeResolution } from "./resolve-in-child.ts";

export { changingFile } from "./changing-file.ts";
export { certificateExpiry } from "./expiry.ts";
export { isBootstrapToken, splitKubeconfig, type TlsMaterial } from "./resolution.ts";

export interface KubeAccess {
  /** Without credentials; its path, if any, comes before every API path. */
  readonly server: URL;
  /** The namespace of the context or of the Pod. */
  readonly namespace?: string;
  /** Changes with the kubeconfig. */
  readonly proxy?: URL;
  /** The identity is a bootstrap token, with which a node requests its certificate. */
  readonly isBootstrap?: boolean;
  /** Server and kind of identity, for users; no secrets. */
  describe(): string;
  /** What to send and to connect with. `tls` is the same object as before if nothing of it has changed. */
  credentials(): Promise<{ headers: Headers; tls: TlsMaterial }>;
  /** Gets other credentials, after a 401. */
  refresh(): void;
  /** When the credentials expire that were used last, and the authority of the server; see expiry.ts. */
  expiries(): { "client-certificate"?: number; token?: number; "server-ca"?: number };
}

export interface AccessOptions {
  /** A file, or a list of files as in KUBECONFIG. */
  kubeconfig?: string;
  /** Default: the current context. */
  context?: string;
  /** Address of the server; overrides the kubeconfig's. */
  server?: string;
  /** Trust any certificate of `server`, if there is no kubeconfig. */
  insecureSkipTlsVerify?: boolean;
  /** For proxies, plugins and the server's address in a Pod. */
  env?: Environment;
  serviceAccountDir?: string;
  /** The words that run this program: it then reads the kubeconfig in a child process, whose memory is free again afterwards. */
  self?: string[];
  /** Ends a running child process. */
  signal?: AbortSignal;
  /** Gets what happens to the credentials later. */
  log?: Pick<Logger, "info" | "warn">;
  /** The time between two looks at the files of a kubeconfig. */
  checkMs?: number;
}

/** The name of the command that `self` runs. */
export const resolveCommand = "resolve-kubeconfig";

/** Where server and identity come from, before flags override them. */
interface Source {
  readonly target: Pick<Target, "context" | "kind" | "server" | "namespace" | "proxyUrl">;
  credentials(): Promise<Pick<Credentials, "headers" | "tls">>;
  /** The server rejected the credential. */
  reject(): void;
}

/** Finds the way to the API server. Throws an error that names what is missing or wrong. */
export async function loadAccess(options: AccessOptions): Promise<KubeAccess> {
  const { env = {}, kubeconfig } = options;
  const source = kubeconfig
    ? await createCredentialCache(kubeconfigResolver(kubeconfig, options), {
      ...options,
      ignoreServer: Boolean(options.server),
    })
    : options.server
    ? serverSource(options.server, options)
    : await serviceAccountSource(options);
  const server = parseServer(options.server || source.target.server);
  const ownProxy = proxyFromEnvironment(server, env);
  let last: TlsMaterial | undefined;
  let authorization: Headers[string] | undefined;
  return {
    server,
    get namespace() {
      return source.target.namespace;
    },
    get proxy() {
      const { proxyUrl } = source.target;
      return proxyUrl ? parseProxy(proxyUrl, "proxy-url") : ownProxy;
    },
    get isBootstrap() {
      return source.target.kind === bootstrapKind;
    },
    describe() {
      const { context, kind } = source.target;
      return `${server.origin}${server.pathname.replace(/\/$/, "")} (${context}, ${kind})`;
    },
    async credentials() {
      const { headers, tls } = await source.credentials();
      if (JSON.stringify(last) !== JSON.stringify(tls)) last = tls;
      authorization = headers.authorization;
      return { headers, tls: last! };
    },
    refresh: () => source.reject(),
    expiries: () => ({
      "client-certificate": last?.cert ? certificateExpiry(last.cert) : undefined,
      token: typeof authorization === "string" ? tokenExpiry(authorization) : undefined,
      "server-ca": last?.ca ? certificateExpiry(last.ca) : undefined,
    }),
  };
}

/** Writes what `self` reads: the body of `resolveCommand`. */
export async function printResolution(
  kubeconfig: string,
  options: Pick<AccessOptions, "context" | "env"> & { rejected: boolean },
  write: (text: string) => void,
): Promise<void> {
  const { rejected, ...rest } = options;
  await writeResolution(() => kubeconfigResolver(kubeconfig, rest)({ rejected }), write);
}

function kubeconfigResolver(kubeconfig: string, options: AccessOptions): Resolve {
  const { self, env = {}, signal, context } = options;
  if (self) {
    const words = ["--kubeconfig", kubeconfig, ...context ? ["--context", context] : []];
    return resolveInChild([...self, resolveCommand, ...words], { env, signal });
  }
  return async ({ rejected }) => {
    const { resolveKubeconfig } = await import("./resolve-kubeconfig.ts");
    return await resolveKubeconfig({ kubeconfig, context, rejected, env });
  };
}

function serverSource(server: string, { insecureSkipTlsVerify = false }: AccessOptions): Source {
  return {
    target: { context: "--server", kind: "anonymous", server },
    credentials: async () => ({ headers: {}, tls: { rejectUnauthorized: !insecureSkipTlsVerify } }),
    reject() {},
  };
}

async function serviceAccountSource(options: AccessOptions): Promise<Source> {
  const dir = options.serviceAccountDir ?? "/var/run/secrets/kubernetes.io/serviceaccount";
  const host = options.env?.KUBERNETES_SERVICE_HOST;
  if (!host) {
    throw new Error(
      "no way to the API server: give a kubeconfig or a server, or run in a Pod with a service account; " +
        "'nckubelet agent --standalone' needs no cluster",
    );
  }
  const port = options.env?.KUBERNETES_SERVICE_PORT || "443";
  const tokenPath = join(dir, "token");
  const [token, ca] = [
    changingFile(tokenPath, "token file"),
    changingFile(join(dir, "ca.crt"), "certificate authority"),
  ];
  return {
    target: {
      context: "service account",
      kind: `token file ${tokenPath}`,
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      namespace: await readFile(join(dir, "namespace"), "utf8").then((text) => text.trim(), () => undefined),
    },
    async credentials() {
      const headers = { authorization: `Bearer ${(await token.read()).trim()}` };
      return { headers, tls: { rejectUnauthorized: true, ca: await ca.read() } };
    },
    reject: () => token.forget(),
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

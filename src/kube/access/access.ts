/**
 * How to reach the API server and with which identity: from a kubeconfig, from flags, or from the Pod's service account.
 *
 * Guarantees: tokens and certificates in files are read again when they change, plugins run again when their credential
 * expires; `describe()` and errors contain no secret. A changed kubeconfig is used without a restart, unless it names another server
 * (credential-cache.ts).
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../lib/log.ts";
import { type ChangingFile, changingFile } from "./changing-file.ts";
import { createCredentialCache } from "./credential-cache.ts";
import { type Environment, parseProxy, proxyFromEnvironment } from "./proxy.ts";
import type { Credentials, Headers, Resolve, Target, TlsMaterial } from "./resolution.ts";
import { resolveInChild, writeResolution } from "./resolve-in-child.ts";

export { changingFile } from "./changing-file.ts";
export { splitKubeconfig, type TlsMaterial } from "./resolution.ts";

export interface KubeAccess {
  /** Without credentials; its path, if any, comes before every API path. */
  readonly server: URL;
  /** The namespace of the context or of the Pod. */
  readonly namespace?: string;
  /** Changes with the kubeconfig. */
  readonly proxy?: URL;
  /** Server and kind of identity, for users; no secrets. */
  describe(): string;
  authorize(): Promise<{ headers: Headers }>;
  /** Returns the same object as before if nothing changed. */
  tls(): Promise<TlsMaterial>;
  /** Gets other credentials, after a 401. */
  refresh(): void;
}

export interface AccessOptions {
  /** A file, or a list of files as in KUBECONFIG. */
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
  /** The words that run this program: it then reads the kubeconfig in a child process, whose memory is free again afterwards. */
  self?: string[];
  /** Ends a running child process. */
  signal?: AbortSignal;
  /** Gets what happens to the credentials later. */
  log?: Pick<Logger, "info" | "warn">;
  now?: () => number;
  /** The time between two looks at the files of a kubeconfig. */
  checkMs?: number;
}

/** The name of the command that `self` runs. */
export const resolveCommand = "resolve-kubeconfig";

/** Where server and identity come from, before flags override them. */
interface Source {
  readonly target: Pick<Target, "context" | "kind" | "server" | "namespace" | "proxyUrl">;
  credentials(): Promise<Pick<Credentials, "headers" | "tls">>;
  reject(): void;
}

/** Finds the way to the API server. Throws an error that names what is missing or wrong. */
export async function loadAccess(options: AccessOptions): Promise<KubeAccess> {
  const { env = {}, insecureSkipTlsVerify, caFile } = options;
  const source = options.kubeconfig
    ? await createCredentialCache(kubeconfigResolver(options.kubeconfig, options), {
      ...options,
      ignoreServer: Boolean(options.server),
    })
    : options.server
    ? serverSource(options.server)
    : await serviceAccountSource(options);
  const server = parseServer(options.server || source.target.server);
  const ownProxy = proxyFromEnvironment(server, env);
  const token = flagToken(options);
  const ca = caFile ? changingFile(caFile, "certificate authority") : undefined;
  let last: TlsMaterial | undefined;
  return {
    server,
    get namespace() {
      return source.target.namespace;
    },
    get proxy() {
      const { proxyUrl } = source.target;
      return proxyUrl ? parseProxy(proxyUrl, "proxy-url") : ownProxy;
    },
    describe() {
      const { context, kind } = source.target;
      const shown = `${server.origin}${server.pathname.replace(/\/$/, "")}`;
      return `${shown} (${context}, ${token?.kind ?? kind})`;
    },
    async authorize() {
      return { headers: token ? await token.headers() : (await source.credentials()).headers };
    },
    async tls() {
      const { tls } = await source.credentials();
      const next: TlsMaterial = {
        ...tls,
        ...(ca && { ca: await ca.read() }),
        ...(token && { cert: undefined, key: undefined }),
        ...(insecureSkipTlsVerify && { rejectUnauthorized: false }),
      };
      if (JSON.stringify(last) !== JSON.stringify(next)) last = next;
      return last!;
    },
    refresh() {
      token?.forget();
      source.reject();
    },
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
  const { self, env = {}, signal, context, now } = options;
  if (self) {
    const words = ["--kubeconfig", kubeconfig, ...context ? ["--context", context] : []];
    return resolveInChild([...self, resolveCommand, ...words], { env, signal });
  }
  return async ({ rejected }) => {
    const { resolveKubeconfig } = await import("./resolve-kubeconfig.ts");
    return await resolveKubeconfig({ kubeconfig, context, rejected, env, now });
  };
}

function serverSource(server: string): Source {
  return fixedSource({ context: "--server", kind: "anonymous", server });
}

function fixedSource(target: Source["target"], token?: FlagToken, ca?: ChangingFile): Source {
  return {
    target,
    async credentials() {
      const tls = { rejectUnauthorized: true, ...(ca && { ca: await ca.read() }) };
      return { headers: token ? await token.headers() : {}, tls };
    },
    reject: () => token?.forget(),
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
  const token = fileToken(join(dir, "token"));
  return fixedSource(
    {
      context: "service account",
      kind: token.kind,
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      namespace: await readFile(join(dir, "namespace"), "utf8").then((text) => text.trim(), () => undefined),
    },
    token,
    changingFile(join(dir, "ca.crt"), "certificate authority"),
  );
}

interface FlagToken {
  kind: string;
  headers(): Promise<Headers>;
  forget(): void;
}

function flagToken({ token, tokenFile }: AccessOptions): FlagToken | undefined {
  if (tokenFile) return fileToken(tokenFile);
  if (!token) return undefined;
  const headers = { authorization: `Bearer ${token.trim()}` };
  return { kind: "token", headers: async () => headers, forget() {} };
}

function fileToken(path: string): FlagToken {
  const file = changingFile(path, "token file");
  return {
    kind: `token file ${path}`,
    headers: async () => ({ authorization: `Bearer ${(await file.read()).trim()}` }),
    forget: () => file.forget(),
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

/** What a test holds of a running control plane: see control-plane.ts, which starts it. */
import { execFile, type ExecFileException } from "node:child_process";
import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { join } from "node:path";
import process from "node:process";
import { loadAccess } from "../../src/kube/access/access.ts";
import { type ClientOptions, createKubeClient, type KubeClient } from "../../src/kube/client/client.ts";
import { type Certificate, createClientCertificate } from "./certificates.ts";
import type { Daemon } from "./daemon.ts";
import { type Feature, hasFeature, type KubernetesVersion } from "./kubernetes-version.ts";

/** Who may speak to the API server. */
export type User = { name: string; groups: string[] };

/** What a program printed and how it ended. */
export type CommandResult = { code: number; stdout: string; stderr: string };

/** How kubectl runs: as the admin, unless a token or another kubeconfig is given. */
export type KubectlOptions = { input?: string; token?: string; kubeconfig?: string; allowFail?: boolean };

/** A raw request, by default with the admin's token; the token `""` makes it anonymous. */
export type RequestOptions = {
  method?: string;
  token?: string;
  body?: unknown;
  contentType?: string;
  timeoutMs?: number;
};

/** What a control plane is made of. */
export type ClusterParts = {
  dir: string;
  server: string;
  kubectl: string;
  authority: Certificate;
  tokens: Map<string, string>;
  etcd: Daemon;
  etcdUrl: string;
  apiServer: Daemon;
  controllerManager?: Daemon;
  podScheduler?: Daemon;
};

/** A running control plane. */
export class Cluster {
  /** Where the API server is: `https://127.0.0.1:PORT`. */
  readonly server: string;
  /** The authority that signed the server's certificate. */
  readonly caFile: string;
  /** The token of the user "admin", who may do everything. */
  readonly adminToken: string;
  /** The path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  /** To kill, pause and start again. */
  readonly etcd: Daemon;
  /** To kill, pause and start again. */
  readonly apiServer: Daemon;
  /** kube-controller-manager, if the control plane was started with `controllers`. */
  readonly controllerManager?: Daemon;
  /** kube-scheduler, if the control plane was started with `podScheduler`. */
  readonly podScheduler?: Daemon;
  /** Which API server this is. */
  version: KubernetesVersion = { major: 0, minor: 0, gitVersion: "" };
  #parts: ClusterParts;
  #certificates = 0;
  #clients: KubeClient[] = [];
  /** Tests ask hundreds of times: a connection each would cost client and server more than the request. */
  #connections: Agent;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.server = parts.server;
    this.caFile = parts.authority.certFile;
    this.etcd = parts.etcd;
    this.apiServer = parts.apiServer;
    this.controllerManager = parts.controllerManager;
    this.podScheduler = parts.podScheduler;
    this.#connections = new Agent({ keepAlive: true, ca: readFileSync(this.caFile) });
    this.adminToken = this.tokenFor("admin");
    this.kubeconfig = join(parts.dir, "admin.kubeconfig");
  }

  /** Whether this API server has the feature; where not, say in the test's output what was not covered. */
  has(feature: Feature): boolean {
    return hasFeature(this.version, feature);
  }

  /** Runs kubectl; throws when it fails, unless `allowFail`. */
  kubectl(args: string[], options: KubectlOptions = {}): Promise<CommandResult> {
    const { dir, kubectl, server } = this.#parts;
    const who = options.token === undefined ? [`--kubeconfig=${options.kubeconfig ?? this.kubeconfig}`] : [
      `--kubeconfig=/dev/null`,
      `--server=${server}`,
      `--certificate-authority=${this.caFile}`,
      `--token=${options.token}`,
    ];
    return new Promise((resolve, reject) => {
      const done = (error: ExecFileException | null, stdout: string, stderr: string) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
        if (code === 0 || options.allowFail) return resolve({ code, stdout, stderr });
        reject(
          new Error(`kubectl ${args.join(" ")} ended with ${code}: ${stderr || error?.message}`, {
            cause: error,
          }),
        );
      };
      // HOME is where kubectl keeps its cache.
      const env = { PATH: process.env.PATH, HOME: dir };
      const child = execFile(kubectl, [...who, ...args], { env, maxBuffer: 64 << 20 }, done);
      child.stdin?.on("error", () => {}); // kubectl may end before it has read all
      child.stdin?.end(options.input ?? "");
    });
  }

  /** Applies an object as the admin. */
  apply(object: object): Promise<CommandResult> {
    return this.kubectl(["apply", "-f", "-"], { input: JSON.stringify(object) });
  }

  /** The words that run kubectl as the admin, for tests that talk to it, and its environment. */
  kubectlCommand(args: string[]): { words: string[]; env: Record<string, string | undefined> } {
    const { dir, kubectl } = this.#parts;
    return {
      words: [kubectl, `--kubeconfig=${this.kubeconfig}`, ...args],
      env: { PATH: process.env.PATH, HOME: dir },
    };
  }

  /** Makes a client certificate for any user. */
  async certificateFor({ name, groups }: User): Promise<Certificate> {
    const file = `${fileName(name)}-${++this.#certificates}`;
    return await createClientCertificate(this.#parts.dir, file, this.#parts.authority, name, groups);
  }

  /** The token of one of the users that the control plane was started with. */
  tokenFor(user: string): string {
    const token = this.#parts.tokens.get(user);
    if (token) return token;
    throw new Error(
      `no user "${user}" in this control plane: it has ${[...this.#parts.tokens.keys()].join(", ")}`,
    );
  }

  /** Writes a kubeconfig with the user's token and gives its path. */
  kubeconfigFor(user: string): Promise<string> {
    return this.#writeKubeconfig(fileName(user), { token: this.tokenFor(user) });
  }

  /** Opens a client, which closes with the control plane. */
  async clientOf(user: string, options?: ClientOptions): Promise<KubeClient> {
    const client = createKubeClient(
      await loadAccess({ kubeconfig: await this.kubeconfigFor(user) }),
      options,
    );
    this.#clients.push(client);
    return client;
  }

  /** Writes a kubeconfig with a new client certificate, for any user, and returns its path. */
  async certificateKubeconfigFor(user: User): Promise<string> {
    const certificate = await this.certificateFor(user);
    return this.#writeKubeconfig(`${fileName(user.name)}-${this.#certificates}`, {
      "client-certificate": certificate.certFile,
      "client-key": certificate.keyFile,
    });
  }

  /** Sends a raw request; an object as `body` goes out as JSON. A refused connection is a rejection. */
  request(path: string, options: RequestOptions = {}): Promise<{ status: number; body: string }> {
    const { method = "GET", token = this.adminToken, body, contentType = "application/json" } = options;
    const { timeoutMs = 10_000 } = options;
    const headers = { ...(token && { authorization: `Bearer ${token}` }), "content-type": contentType };
    return new Promise((resolve, reject) => {
      const request = httpsRequest(this.server + path, {
        method,
        headers,
        agent: this.#connections,
        timeout: timeoutMs,
      });
      request.on("error", (error: NodeJS.ErrnoException) => {
        // The server ended while the connection was idle, most likely.
        const isStale = method === "GET" && request.reusedSocket &&
          (error.code === "ECONNRESET" || error.code === "EPIPE");
        if (isStale) this.request(path, options).then(resolve, reject);
        else reject(error);
      });
      request.on(
        "timeout",
        () => request.destroy(new Error(`${method} ${path}: no answer in ${timeoutMs} ms`)),
      );
      request.on("response", async (response) => {
        let text = "";
        try {
          for await (const chunk of response.setEncoding("utf8")) text += chunk;
          resolve({ status: response.statusCode ?? 0, body: text });
        } catch (error) {
          reject(error);
        }
      });
      request.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
    });
  }

  /**
   * Reads an object, or undefined if there is none. For tests that wait for a state: kubectl takes many times the CPU time, and
   * `waitFor` looks the less often, the longer a look takes.
   */
  async find<T>(path: string): Promise<T | undefined> {
    const { status, body } = await this.request(path);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${body}`);
    return JSON.parse(body);
  }

  /** Reads an object that must be there. */
  async get<T>(path: string): Promise<T> {
    const found = await this.find<T>(path);
    if (found === undefined) throw new Error(`GET ${path}: there is no such object`);
    return found;
  }

  /** The version of its etcd, such as "3.5.30". */
  async etcdVersion(): Promise<string> {
    const response = await fetch(`${this.#parts.etcdUrl}/version`);
    return (await response.json() as { etcdserver: string }).etcdserver;
  }

  /** Compacts etcd to the current versions. A running API server still caches some of the older ones. */
  async compact(): Promise<void> {
    const ask = async (path: string, body: object): Promise<{ header: { revision: string } }> => {
      const response = await fetch(this.#parts.etcdUrl + path, {
        method: "POST",
        body: JSON.stringify(body),
      });
      if (response.ok) return await response.json();
      throw new Error(`etcd: ${path}: ${response.status} ${await response.text()}`);
    };
    // The range of one key that cannot exist: only the header of the answer matters.
    const { header } = await ask("/v3/kv/range", { key: "AA==" });
    await ask("/v3/kv/compaction", { revision: header.revision, physical: true });
  }

  /** Stops the programs and removes every file of the control plane. */
  async stop(): Promise<void> {
    // Nothing needs saving, so there is no reason for a graceful stop.
    this.#connections.destroy();
    for (const client of this.#clients) client.close();
    const daemons = [this.podScheduler, this.controllerManager, this.apiServer, this.etcd];
    await Promise.all(daemons.map((daemon) => daemon?.kill("SIGKILL")));
    await rm(this.#parts.dir, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // JSON is YAML.
  async #writeKubeconfig(name: string, user: Record<string, string>): Promise<string> {
    const file = join(this.#parts.dir, `${name}.kubeconfig`);
    const cluster = { server: this.server, "certificate-authority": this.caFile };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster }],
      users: [{ name, user }],
      contexts: [{ name: "test", context: { cluster: "test", user: name } }],
      "current-context": "test",
    };
    await writeFile(file, JSON.stringify(config, null, 2), { mode: 0o600 });
    return file;
  }
}

function fileName(user: string): string {
  return user.replaceAll(/[^A-Za-z0-9.-]/g, "-");
}

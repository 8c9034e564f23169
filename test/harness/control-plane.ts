/**
 * A real control plane for tests: etcd and kube-apiserver on loopback, with RBAC, tokens and certificates, and on request
 * kube-controller-manager and kube-scheduler.
 *
 * Guarantees: ready means that /readyz is ok, the namespace "default" exists and all custom resources are served. Each control
 * plane has its own ports, folder, keys and data; several run in parallel. All programs die with the test process, however that
 * ends. `stop` leaves no process and no file. A restarted program has the same address and data.
 * Works with current versions and with the one that `install-parts.sh` builds (1.20): see `findControlPlane`.
 * Caveats: no kubelet; without `controllers` nothing collects garbage, creates service accounts or updates nodes.
 * About 550 MB of memory each. A test process that is killed leaves its temporary folder.
 */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { basename, join } from "node:path";
import process from "node:process";
import { agentGroup, agentUser, schedulerGroup } from "../../src/api/names.ts";
import { tempFolder } from "../temp-folder.ts";
import {
  type Certificate,
  createAuthority,
  createClientCertificate,
  createKey,
  createServerCertificate,
} from "./certificates.ts";
import { Cluster, type User } from "./cluster.ts";
import { Daemon } from "./daemon.ts";
import { freePort } from "./free-port.ts";
import { parseVersion } from "./kubernetes-version.ts";
import { type ControlPlaneParts, findControlPlane } from "./parts.ts";

/** Options of a control plane. */
export type ControlPlaneOptions = {
  /** The start of its version, such as "1.20". Default: the one that `KUBEBUILDER_ASSETS` names, or the newest at hand. */
  version?: string;
  /** Starts kube-controller-manager with these flags added; may be empty. See `skipUnlessControllers`. */
  controllers?: string[];
  /**
   * Called before the controllers start, such as `installCRD`: their garbage collector looks for new resources when it starts and
   * then every 30 s.
   */
  prepare?: (cluster: Cluster) => Promise<void>;
  /** Pods get service accounts, as elsewhere: needs `controllers`, which create them. */
  serviceAccounts?: boolean;
  /** Starts kube-scheduler, which binds Pods. */
  podScheduler?: boolean;
  /** Users with a token, besides "admin". */
  users?: User[];
  /** Lets kube-apiserver speak only to nodes with a certificate of its authority. */
  checkNodes?: boolean;
  /** More flags for kube-apiserver. */
  apiServerFlags?: string[];
};

/** The default users: two agents, the scheduler, and one without rights. */
export const defaultUsers: User[] = [
  { name: agentUser("node-a"), groups: [agentGroup] },
  { name: agentUser("node-b"), groups: [agentGroup] },
  { name: "nckubelet-scheduler", groups: [schedulerGroup] },
  { name: "stranger", groups: [] },
];

/** Runs a control plane during `use`, and always stops it. */
export async function withControlPlane<T>(
  use: (cluster: Cluster) => Promise<T>,
  options: ControlPlaneOptions = {},
): Promise<T> {
  const cluster = await startControlPlane(options);
  try {
    return await use(cluster);
  } finally {
    await cluster.stop();
  }
}

/** Starts a control plane; the caller stops it, or declares it with `await using`. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<Cluster> {
  const parts = findControlPlane(process.env, options.version);
  if ("missing" in parts) throw new Error(parts.missing);
  for (let attempt = 1;; attempt++) {
    try {
      return await startOnce(parts, options);
    } catch (error) {
      // Another process took the port between the check and the bind.
      if (attempt === 3 || !String(error).includes("address already in use")) throw error;
    }
  }
}

async function startOnce(parts: ControlPlaneParts, options: ControlPlaneOptions): Promise<Cluster> {
  const temp = tempFolder();
  try {
    return await startIn(temp.path, parts, options);
  } catch (error) {
    temp.remove();
    throw error;
  }
}

async function startIn(
  dir: string,
  parts: ControlPlaneParts,
  options: ControlPlaneOptions,
): Promise<Cluster> {
  const users = [{ name: "admin", groups: ["system:masters"] }, ...(options.users ?? defaultUsers)];
  const tokens = new Map(users.map((user) => [user.name, randomBytes(16).toString("hex")]));
  await writeTokens(join(dir, "tokens.csv"), users, tokens);
  const { controllers, podScheduler = false } = options;
  const authority = await createAuthority(dir, "ca");
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const etcd = etcdDaemon(parts.etcd, dir, client, peer);
  const apiServer: Daemon = new Daemon({
    program: parts.apiServer,
    args: [
      ...await apiServerFlags(dir, authority, port, client),
      // What no test needs takes a quarter of the CPU time of a start; kube-scheduler 1.20 reads PodDisruptionBudgets, then beta.
      ...(podScheduler ? [] : ["--runtime-config=api/beta=false"]),
      ...(options.checkNodes ? [`--kubelet-certificate-authority=${authority.certFile}`] : []),
      // Without controllers nothing creates the service accounts that it would require.
      ...(options.serviceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
      ...(options.apiServerFlags ?? []),
    ],
    // Garbage collection takes a sixth of the CPU time of a start.
    env: { GOGC: "400" },
    logFile: join(dir, "kube-apiserver.log"),
    isReady: () => isReady(cluster),
  });
  const server = `https://127.0.0.1:${port}`;
  const cluster: Cluster = new Cluster({
    dir,
    server,
    kubectl: parts.kubectl,
    authority,
    tokens,
    etcd,
    etcdUrl: `http://127.0.0.1:${client}`,
    apiServer,
    controllerManager: controllers &&
      helperDaemon(parts.controllerManager, dir, await freePort(), {
        flags: [...controllerFlags(dir, authority), ...controllers],
        minor: () => cluster.version.minor,
        isReady: () => hasControllers(cluster),
      }),
    podScheduler: podScheduler
      ? helperDaemon(parts.scheduler, dir, await freePort(), { minor: () => cluster.version.minor })
      : undefined,
  });
  await cluster.kubeconfigFor("admin");
  try {
    await etcd.start();
    await apiServer.start();
    cluster.version = parseVersion((await cluster.request("/version")).body);
    await options.prepare?.(cluster);
    await Promise.all([cluster.controllerManager?.start(), cluster.podScheduler?.start()]);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

function etcdDaemon(program: string, dir: string, client: number, peer: number): Daemon {
  const url = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  return new Daemon({
    program,
    args: [
      `--data-dir=${join(dir, "etcd")}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      // The data outlives a killed etcd, but need not outlive the machine.
      "--unsafe-no-fsync",
    ],
    logFile: join(dir, "etcd.log"),
    isReady: () => fetch(`${url}/health`).then((response) => response.ok, () => false),
  });
}

// Only flags that both 1.20 and current servers support.
async function apiServerFlags(dir: string, authority: Certificate, port: number, etcdPort: number) {
  const names = ["IP:127.0.0.1", "DNS:localhost", "DNS:kubernetes.default.svc"];
  const serving = await createServerCertificate(dir, "kube-apiserver", authority, names);
  const signingKey = await createKey(dir, "service-account");
  // As kubeadm has it: what the API server shows to nodes, for logs, exec and the like.
  const toNodes = await createClientCertificate(
    dir,
    "kubelet-client",
    authority,
    "kube-apiserver-kubelet-client",
    [
      "system:masters",
    ],
  );
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    // The service "kubernetes" may not have a loopback endpoint; without this the log fills with errors.
    "--endpoint-reconciler-type=none",
    "--service-cluster-ip-range=10.0.0.0/24",
    `--tls-cert-file=${serving.certFile}`,
    `--tls-private-key-file=${serving.keyFile}`,
    `--client-ca-file=${authority.certFile}`,
    `--kubelet-client-certificate=${toNodes.certFile}`,
    `--kubelet-client-key=${toNodes.keyFile}`,
    "--kubelet-preferred-address-types=InternalIP,Hostname",
    `--token-auth-file=${join(dir, "tokens.csv")}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${signingKey}`,
    `--service-account-signing-key-file=${signingKey}`,
    `--cert-dir=${join(dir, "certs")}`,
    "--profiling=false",
    "--enable-priority-and-fairness=false",
  ];
}

/** A program that works through the API server, as the admin. */
function helperDaemon(
  program: string | undefined,
  dir: string,
  port: number,
  { flags = [], minor, isReady }: { flags?: string[]; minor: () => number; isReady?: () => Promise<boolean> },
): Daemon {
  if (!program) throw new Error("this control plane has no kube-controller-manager or no kube-scheduler");
  const name = basename(program);
  return new Daemon({
    program,
    args: () => [
      `--kubeconfig=${join(dir, "admin.kubeconfig")}`,
      "--leader-elect=false",
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      `--cert-dir=${join(dir, `${name}-certs`)}`,
      "--authentication-skip-lookup",
      "--profiling=false",
      // Otherwise they also listen on a fixed port, without TLS. Later versions reject the flag.
      ...(minor() < 24 ? ["--port=0"] : []),
      ...flags,
    ],
    logFile: join(dir, `${name}.log`),
    isReady: isReady ?? (() => answers(port, "/healthz")),
  });
}

function controllerFlags(dir: string, authority: Certificate): string[] {
  return [
    `--cluster-signing-cert-file=${authority.certFile}`,
    `--cluster-signing-key-file=${authority.keyFile}`,
    `--root-ca-file=${authority.certFile}`,
    `--service-account-private-key-file=${join(dir, "service-account.key")}`,
  ];
}

/** Reports whether a program with a certificate of its own answers 200. */
function answers(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = httpsRequest({ host: "127.0.0.1", port, path, rejectUnauthorized: false, agent: false });
    request.on("error", () => resolve(false));
    request.on("response", (response) => resolve(response.resume().statusCode === 200));
    request.end();
  });
}

/** Whether the controllers work: one of them creates this service account. */
async function hasControllers(cluster: Cluster): Promise<boolean> {
  const { status } = await cluster.request("/api/v1/namespaces/default/serviceaccounts/default");
  return status === 200;
}

type CustomResourceDefinition = {
  spec: { group: string; names: { plural: string }; versions: { name: string }[] };
};

async function isReady(cluster: Cluster): Promise<boolean> {
  try {
    const isOk = async (path: string) => (await cluster.request(path)).status === 200;
    if (!await isOk("/readyz") || !await isOk("/api/v1/namespaces/default")) return false;
    // A restarted server is ready before it serves the resources of the CRDs that it has.
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const { items } = await cluster.get<{ items: CustomResourceDefinition[] }>(crds);
    for (const { spec: { group, names, versions } } of items) {
      for (const { name } of versions) {
        if (!await isOk(`/apis/${group}/${name}/${names.plural}?limit=1`)) return false;
      }
    }
    return true;
  } catch {
    return false;
  }
}

// token,user,uid,"group1,group2"
function writeTokens(file: string, users: User[], tokens: Map<string, string>): Promise<void> {
  const lines = users.map(({ name, groups }) =>
    `${tokens.get(name)},${name},uid:${name},"${groups.join(",")}"\n`
  );
  return writeFile(file, lines.join(""), { mode: 0o600 });
}

/** The kubelet API of a node as tests see it: with senders that stand for the users of a cluster. */
import type { Sender } from "../../../src/server/kubelet/access.ts";
import {
  createKubeletApp,
  defaultClientLimits,
  type KubeletServices,
} from "../../../src/server/kubelet/kubelet.ts";
import type { AuthorizeUser, User } from "../../../src/server/access.ts";
import { splitAppKey } from "../../../src/api/names.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { fakeLauncher } from "../../fake-launcher.ts";
import { viewWith } from "../fake-agent.ts";

/** Which subresources of the node a user may use, by verb. */
type Rights = "everything" | string[];

/** Users by their token, with what RBAC lets them do. */
export const people: Record<string, { user: User; rights: Rights }> = {
  // Has the right of a metrics reader, and nothing else.
  metrics: { user: { username: "metrics-server" }, rights: ["get metrics"] },
  // May read Pods, which is no right on nodes.
  viewer: { user: { username: "viewer", groups: ["viewers"] }, rights: [] },
  nobody: { user: { username: "nobody" }, rights: [] },
  reader: { user: { username: "reader" }, rights: ["get proxy"] },
  writer: { user: { username: "writer" }, rights: ["create proxy"] },
  // May enter the app default/web, whatever user it runs as.
  operator: { user: { username: "operator" }, rights: ["create proxy", "create exec default/web"] },
  stats: { user: { username: "stats" }, rights: ["get stats"] },
  pods: { user: { username: "pods" }, rights: ["get pods"] },
  health: { user: { username: "health" }, rights: ["get healthz"] },
  "other-agent": {
    user: { username: "nckubelet:node-b", groups: ["nckubelet:agents"] },
    rights: [],
  },
};

export const apiServer: User = { username: "kube-apiserver-kubelet-client", groups: ["system:masters"] };

export const authorizeByRights: AuthorizeUser = async ({ username, groups }, { verb, subresource, app }) => {
  if (groups?.includes("system:masters")) return "allowed";
  const rights = Object.values(people).find(({ user }) => user.username === username)?.rights ?? [];
  const right = [verb, subresource, ...app ? [`${app.namespace}/${app.name}`] : []].join(" ");
  return rights === "everything" || rights.includes(right) ? "allowed" : "forbidden";
};

export function kubeletServices(fields: Partial<KubeletServices> = {}): KubeletServices {
  return {
    view: viewWith(),
    log: silentLogger,
    pods: {
      appOfPod: (namespace, pod) => ({ namespace, name: pod }),
      podOf: (key) => ({ name: splitAppKey(key).name, uid: "uid-pod" }),
      podList: () => [],
    },
    launcher: fakeLauncher,
    authenticate: async (token) => people[token]?.user ?? (token === "late" ? "unavailable" : "unknown"),
    authorize: authorizeByRights,
    limits: defaultClientLimits(),
    streams: new Set(),
    ...fields,
  };
}

/** A connection with a client certificate, of the cluster's authority unless `authorized` is false. */
export function certified(
  subject: Record<string, string | string[]>,
  authorized = true,
): { incoming: { socket: Sender["socket"] } } {
  const certificate = { subject, valid_to: "Jan  1 00:00:00 2100 GMT" };
  const socket = { authorized, getPeerCertificate: () => certificate } as unknown as Sender["socket"];
  return { incoming: { socket } };
}

/** Sends requests to the API, by token or with the environment of a connection. */
export function kubeletWith(fields: Partial<KubeletServices> = {}) {
  const app = createKubeletApp(kubeletServices(fields));
  return {
    app,
    ask: (
      path: string,
      { method = "GET", token, env }: { method?: string; token?: string; env?: object } = {},
    ) =>
      app.request(path, { method, headers: token ? { authorization: `Bearer ${token}` } : {} }, env as never),
    asApiServer: (path: string, method = "GET") =>
      app.request(path, { method }, certified({ CN: apiServer.username, O: "system:masters" }) as never),
  };
}

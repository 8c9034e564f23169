/** An agent as the server sees it, for tests of the routes. */
import { type Authorize, createServerApp, type Listener } from "../../src/server/app.ts";
import type { AppActions, Services } from "../../src/server/services.ts";
import { createAgentCounters } from "../../src/server/counters.ts";
import type { AgentView, AppView, History } from "../../src/server/view.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { appWith } from "../supervisor/fixtures.ts";

export const web: AppView = {
  app: appWith({
    env: [{ name: "PASSWORD", value: "hunter2" }, {
      name: "NODE",
      valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } },
    }],
    allowExec: true,
  }),
  source: "manifests",
  status: { phase: "Running", ready: true },
  logFile: "/var/log/nckubelet/default_web/app.log",
  limits: { cores: 0.8, memoryBytes: 100_000_000 },
  usage: {
    cpuSeconds: 12.5,
    throttledSeconds: 0.25,
    memoryBytes: 50_000_000,
    processes: 3,
  },
};

const emptyHistory: History = {
  periodSeconds: 10,
  first: 0,
  last: -1,
  at: 0,
  node: { cpuPCT: [], memPCT: [] },
  apps: {},
};

const authorize: Authorize = async (token) =>
  token === "good"
    ? "allowed"
    : token === "weak"
    ? "forbidden"
    : token === "late"
    ? "unavailable"
    : "unknown";
const isOwnHost = (host: string) => host === "localhost";

export const listeners = {
  socket: { kind: "socket" },
  loopback: { kind: "loopback", isOwnHost, authorize },
  "open loopback": { kind: "loopback", isOwnHost },
  tls: { kind: "tls", authorize },
} as const satisfies Record<string, Listener>;

export function viewWith(fields: Partial<AgentView> = {}): AgentView {
  return {
    version: "1.2.3",
    node: "node-a",
    startedAt: new Date(0),
    size: { cpus: 4, memoryBytes: 1_000_000_000 },
    limits: { enforced: true, strict: true, message: "" },
    launcher: () => ({ kind: "native", message: "/var/lib/nckubelet/launcher-0" }),
    sources: () => [],
    problems: () => [],
    apps: () => [web],
    app: (namespace, name) => namespace === "default" && name === "web" ? web : undefined,
    checks: () => [{ name: "sync", ok: true, message: "1 s ago" }],
    nodeUsage: () => undefined,
    history: () => emptyHistory,
    events: async function* () {},
    appHistory: async () => undefined,
    lostHistory: () => 0,
    onChange: () => () => {},
    ...fields,
  };
}

/** Actions that do nothing and say what they were asked for. */
export function recordActions(): AppActions & { asked: string[] } {
  const asked: string[] = [];
  const act = (verb: string) => async (namespace: string, name: string) => {
    asked.push(`${verb} ${namespace}/${name}`);
    return { done: true, app: web.app } as const;
  };
  return {
    asked,
    async put(app) {
      asked.push(`put ${app.metadata.namespace}/${app.metadata.name}`);
      return { done: true, change: "created", app };
    },
    remove: act("remove"),
    restart: act("restart"),
    stop: act("stop"),
    start: act("start"),
    reload: act("reload"),
    trigger: act("trigger"),
    undo: act("undo"),
  };
}

export function servicesWith(fields: Partial<Services> = {}): Services {
  return {
    view: viewWith(),
    actions: recordActions(),
    counters: createAgentCounters(),
    log: silentLogger,
    logDir: "/var/log/nckubelet",
    stateDir: "/var/lib/nckubelet",
    dashboardURL: () => "http://127.0.0.1:10268/#token=secret",
    followers: { now: 0, most: 2, use: "follow a log or watch apps" },
    readers: { now: 0, most: 2, use: "read a log" },
    ...fields,
  };
}

/** The endpoint behind a listener, by default the most powerful one. */
export function serverWith(fields: Partial<Services> = {}, listener: Listener = listeners.socket) {
  return createServerApp(listener, servicesWith(fields));
}

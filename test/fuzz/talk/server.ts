/**
 * The agent's servers in a process of their own: the kubelet API with TLS, and the local endpoint on a port and a socket, as an agent
 * opens them, with a fake node and a fake API server behind them. Commands, logs and the launcher are real. It reports how long its event loop was kept and how much memory it has.
 */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { kubeletBounds } from "../../../src/agent/kubelet/open-kubelet.ts";
import type { KubeClient, KubeRequest } from "../../../src/kube/client/client.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { sleep } from "../../../src/lib/sleep.ts";
import { createServerApp } from "../../../src/server/app.ts";
import { createKubeletApp } from "../../../src/server/kubelet/kubelet.ts";
import {
  isLoopbackHost,
  listenOnPort,
  listenOnSocket,
  listenWithTLS,
} from "../../../src/server/listen/listen.ts";
import { createSelfSigned } from "../../../src/server/listen/self-signed.ts";
import { createAuthentication, createAuthorization } from "../../../src/server/listen/token-review.ts";
import type { AppActions } from "../../../src/server/services.ts";
import type { AppView } from "../../../src/server/view.ts";
import { entranceOf } from "../../../src/supervisor/launcher/launcher.ts";
import { builtLauncher } from "../../harness/launcher.ts";
import { servicesWith, viewWith, web } from "../../server/fake-agent.ts";
import { firstPart } from "../../supervisor/logs/log-files.ts";
import { enterable } from "../../supervisor/run/enterable-run.ts";
import { tempFolder } from "../../temp-folder.ts";
import { kubeletServices } from "../../server/kubelet/fake-kubelet.ts";

/** What the parent asks for, and gets. */
export type Question = "measure" | "collect";
export interface Measured {
  /** How long the event loop was kept, in milliseconds, since the last question; see `watchLoop`. */
  kept: number[];
  rss: number;
  /** Live memory, after a collection if that was asked for. */
  live: number;
  sessions: number;
  /** Nanoseconds for which this thread has run, and those for which it waited for a core. */
  ran: number;
  waited: number;
}
export interface Opened {
  kubelet: number;
  local: number;
  socket: string;
}

/** Knows one token, and takes its time. */
const client = {
  async request({ path, body }: KubeRequest) {
    await sleep(5);
    const { token } = (body as { spec: { token?: string } }).spec;
    if (!path.endsWith("/tokenreviews")) return { status: { allowed: true } };
    return { status: token === "good" ? { authenticated: true, user: { username: "good" } } : {} };
  },
} as unknown as KubeClient;

const temp = tempFolder();
const run = await enterable();
const logFile = firstPart(join(temp.path, "default_web"));
mkdirSync(dirname(logFile));
/** An app that prints, and whose status changes, all the time. */
let app: AppView = { ...web, logFile, run: { id: run.runId, folder: run.folder } };
const watchers = new Set<(key: string) => void>();
setInterval(() => {
  appendFileSync(logFile, `${new Date().toISOString()} tick\n`);
  app = { ...app, status: { ...app.status } };
  for (const watcher of watchers) watcher("default/web");
}, 50);
const view = viewWith({
  apps: () => [app],
  app: (_, name) => name === "web" ? app : undefined,
  onChange(watcher) {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  },
});
const done = async () => ({ done: true, app: web.app }) as const;
const actions: AppActions = {
  put: done,
  remove: done,
  restart: done,
  stop: done,
  start: done,
  reload: done,
  trigger: done,
  undo: done,
};
const reviews = { client, node: "node-a", log: silentLogger };
const services = kubeletServices({
  view,
  launcher: entranceOf(await builtLauncher()),
  authenticate: createAuthentication(reviews),
  authorize: createAuthorization(reviews),
});
const pair = createSelfSigned("node-a", ["localhost"], Date.now());
const kubelet = await listenWithTLS(createKubeletApp(services), "127.0.0.1:0", {
  flag: "--kubelet-listen",
  readPair: async () => pair,
  readAuthority: async () => undefined,
  upgrades: true,
  log: silentLogger,
  // Half a minute of fuzzing has to see deadlines pass.
  bounds: { ...kubeletBounds, headersMs: 2000 },
});
const local = await listenOnPort(
  createServerApp({ kind: "loopback", isOwnHost: isLoopbackHost }, servicesWith({ view })),
  "127.0.0.1:0",
);
const socket = join(temp.path, "agent.sock");
await listenOnSocket(createServerApp({ kind: "socket" }, servicesWith({ view, actions })), socket);
/**
 * Measures how much later than wanted a timer fires because of work in this thread: on a busy machine it also waits for a core, which
 * is not the server's doing, so only as much counts as the thread has computed meanwhile.
 */
function watchLoop(kept: number[]): void {
  const periodMs = 5;
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let [at, cpu] = [performance.now(), cpuMs()];
  setInterval(() => {
    const [now, used] = [performance.now(), cpuMs()];
    kept.push(Math.max(0, Math.min(now - at - periodMs, used - cpu)));
    [at, cpu] = [now, used];
  }, periodMs);
}
const kept: number[] = [];
watchLoop(kept);
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

process.on("message", (question: Question) => {
  if (question === "collect") collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  const [ran = 0, waited = 0] = readFileSync("/proc/self/schedstat", "utf8").split(" ").map(Number);
  const measured: Measured = {
    ran,
    waited,
    kept: kept.splice(0),
    rss,
    live: heapUsed + external,
    sessions: services.limits.sessions.now,
  };
  process.send!(measured);
});
process.on("disconnect", () => {
  temp.remove();
  run[Symbol.dispose]();
  process.exit();
});
process.send!(
  { kubelet: kubelet.port, local: Number(new URL(local.address).port), socket } satisfies Opened,
);

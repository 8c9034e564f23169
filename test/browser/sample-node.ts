/** A node with half an hour behind it, served by the real endpoint: for pictures, and for tests of what a page does with it. */
import { createServerApp } from "../../src/server/app.ts";
import { createAgentCounters } from "../../src/server/counters.ts";
import { isLoopbackHost, listenOnPort } from "../../src/server/listen/listen.ts";
import type { AgentView, AppSeries, AppView } from "../../src/server/view.ts";
import type { NCAppSpec, NCAppStatus } from "../../src/api/types.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { recordActions } from "../server/fake-agent.ts";
import { appWith } from "../supervisor/fixtures.ts";

const samples = 180;
const gibibyte = 2 ** 30;

interface Sample {
  name: string;
  spec: NCAppSpec;
  status: NCAppStatus;
  series: AppSeries;
  logFile?: string;
}

const wave = (base: number, swing: number, period: number, until = samples, from = 0) =>
  Array.from({ length: samples }, (_, n) => {
    if (n < from || n >= until) return null;
    const noise = Math.sin(n * 12.9898) * 0.5 + Math.sin(n * 78.233) * 0.5;
    return Math.max(0, Math.round(100 * (base + swing * Math.sin(n / period) + noise * swing / 3)) / 100);
  });
const atMost = (values: (number | null)[], cap: number) =>
  values.map((value) => value === null ? null : Math.min(cap, value));
const calm = { oomKills: [], restarts: [] };
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const running = (fields: NCAppStatus): NCAppStatus => ({
  phase: "Running",
  reason: "Running",
  ready: true,
  restarts: 0,
  oomKills: 0,
  pid: 4711,
  processes: 3,
  ...fields,
});

export const sampleApps: Sample[] = [
  {
    name: "web",
    spec: {
      shellFile: "/opt/web/start.sh",
      args: ["--port", "8080", "hello world"],
      cpuPCT: 20,
      memPCT: 10,
      pidsMax: 200,
      readinessProbe: { httpGet: { port: 8080, path: "/ready" }, periodSeconds: 5 },
    },
    status: running({
      startTime: ago(200),
      cpuPCT: "17.4",
      memPCT: "5.1",
      memoryBytes: 0.82 * gibibyte,
      cpuThrottledPCT: "6.0",
    }),
    series: {
      cpuPCT: atMost(wave(15, 7, 14), 20),
      memPCT: wave(5, 0.4, 30),
      throttledPCT: wave(15, 7, 14).map((value) => value === null ? null : Math.max(0, (value - 19) * 8)),
      ...calm,
    },
  },
  {
    name: "indexer",
    spec: { shellFile: "/opt/indexer/run.sh", cpuPCT: 30, memPCT: 8 },
    status: {
      phase: "BackOff",
      reason: "OOMKilled",
      message: "Ended with status 137 (SIGKILL): OOMKilled; restarting now",
      ready: false,
      restarts: 3,
      oomKills: 3,
      lastExit: {
        code: 137,
        signal: "SIGKILL",
        reason: "OOMKilled",
        startedAt: ago(6),
        finishedAt: ago(0.5),
        message: "loading segment 41 of 96\nloading segment 42 of 96\nKilled",
      },
    },
    series: {
      cpuPCT: wave(22, 5, 6, 177),
      memPCT: Array.from({ length: samples }, (_, n) => n > 176 ? null : Math.min(8, 0.5 + (n % 58) * 0.14)),
      oomKills: [57, 115, 176],
      restarts: [59, 118],
    },
  },
  {
    name: "mqtt-bridge",
    spec: { shellFile: "/opt/mqtt/bridge.sh", memPCT: 2 },
    status: running({
      startTime: ago(4000),
      cpuPCT: "1.3",
      memPCT: "0.6",
      memoryBytes: 0.1 * gibibyte,
      cpuThrottledPCT: "0.0",
    }),
    series: { cpuPCT: wave(1.2, 0.6, 9), memPCT: wave(0.6, 0.02, 40), ...calm },
  },
  {
    name: "camera",
    spec: { shellFile: "https://files.example.com/camera.sh", cpuPCT: 25, memPCT: 15 },
    status: running({
      startTime: ago(12),
      cpuPCT: "11.8",
      memPCT: "9.9",
      memoryBytes: 1.6 * gibibyte,
      ready: false,
      message: "",
    }),
    series: {
      cpuPCT: wave(12, 3, 5, samples, 108),
      memPCT: wave(10, 0.5, 12, samples, 108),
      oomKills: [],
      restarts: [],
    },
  },
  {
    name: "nightly-backup",
    spec: { shellFile: "/opt/backup.sh", schedule: "0 3 * * *", timeZone: "Europe/Berlin", cpuPCT: 10 },
    status: {
      phase: "Succeeded",
      reason: "Completed",
      ready: false,
      restarts: 0,
      oomKills: 0,
      nextRun: "2027-01-02T02:00:00Z",
    },
    series: { cpuPCT: wave(9, 2, 4, 90, 40), memPCT: wave(1, 0.3, 10, 90, 40), ...calm },
  },
  {
    name: "new-app",
    spec: { shellFile: "" },
    status: {
      phase: "Pending",
      reason: "NoShellFile",
      message: "spec.shellFile is empty: there is nothing to run yet",
      ready: false,
    },
    series: { cpuPCT: wave(0, 0, 1, 0), memPCT: wave(0, 0, 1, 0), ...calm },
  },
];

/** As many apps as a large node has, in every phase. */
export const manySampleApps: Sample[] = Array.from({ length: 40 }, (_, n) => {
  const { spec, status, series } = sampleApps[n % sampleApps.length]!;
  return {
    name: `${sampleApps[n % sampleApps.length]!.name}-${String(n).padStart(2, "0")}`,
    spec,
    status: status.cpuPCT === undefined ? status : { ...status, cpuPCT: (n / 4).toFixed(1), restarts: n % 7 },
    series,
  };
});

/** Serves these apps on loopback until the end of the block; `fields` replace what the agent reports. */
export async function serveSampleNode(apps: Sample[] = sampleApps, fields: Partial<AgentView> = {}) {
  const views = apps.map(({ name, spec, status, logFile = "/nowhere/app.log" }): AppView => ({
    app: appWith(spec, { name }),
    source: "api-server",
    status,
    logFile,
    limits: {},
  }));
  const view: AgentView = {
    events: async function* () {},
    appHistory: async () => undefined,
    lostHistory: () => 0,
    version: "0.1.0",
    node: "edge-7",
    startedAt: new Date(Date.now() - 400 * 60_000),
    size: { cpus: 4, memoryBytes: 16 * gibibyte },
    launcher: () => ({ kind: "native", message: "/var/lib/nckubelet/launcher-0" }),
    limits: { enforced: true, strict: true, message: "enforced by cgroup v2" },
    sources: () => [],
    problems: () => [],
    apps: () => views,
    app: (_, name) => views.find(({ app }) => app.metadata.name === name),
    checks: () => [{ name: "sync", ok: true, message: "last sync 3 s ago" }],
    nodeUsage: () => ({
      time: Date.now(),
      cpuSeconds: 5000,
      cpuPCT: 52,
      memPCT: 41,
      memoryBytes: 6.5 * gibibyte,
      memoryTotalBytes: 16 * gibibyte,
      memoryAvailableBytes: 9.5 * gibibyte,
      threads: 400,
      maxThreads: 32_768,
      disk: { availableBytes: 61 * gibibyte, totalBytes: 118 * gibibyte, freeInodes: 1, inodes: 2 },
    }),
    onChange: () => () => {},
    history: (since) => {
      const first = since === samples - 1 ? samples : 0;
      const cut = <T>(values: T[]) => values.slice(first);
      return {
        periodSeconds: 10,
        first,
        last: samples - 1,
        at: Date.now(),
        node: { cpuPCT: cut(wave(48, 9, 16)), memPCT: cut(wave(40, 2, 25)) },
        apps: Object.fromEntries(apps.map(({ name, series }) => [`default/${name}`, {
          ...series,
          cpuPCT: cut(series.cpuPCT),
          memPCT: cut(series.memPCT),
          ...(series.throttledPCT && { throttledPCT: cut(series.throttledPCT) }),
        }])),
      };
    },
    ...fields,
  };
  const services = {
    view,
    actions: recordActions(),
    counters: createAgentCounters(),
    log: silentLogger,
    stateDir: "/var/lib/nckubelet",
    logDir: "/var/log/nckubelet",
    dashboardURL: () => undefined,
    logs: { maxBytes: 10 << 20, maxFiles: 5 },
    followers: { now: 0, most: 8, use: "follow a log or watch apps" },
    readers: { now: 0, most: 8, use: "read a log" },
  };
  const app = createServerApp({ kind: "loopback", isOwnHost: isLoopbackHost }, services);
  const listener = await listenOnPort(app, "127.0.0.1:0");
  return { url: listener.address, [Symbol.asyncDispose]: () => listener.close() };
}

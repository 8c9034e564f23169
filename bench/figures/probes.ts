/**
 * What probes cost the agent: 500 apps with a liveness and a readiness probe each second are 1,000 a second.
 *
 * The probes of a kind are added live, without a restart of the apps. The target counts the requests, so planned probes do not
 * count. Exec probes are fewer: each is a separate process, so the figure is the cost of one, next to a start of the same command.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { fetchText, type LocalAgent, startLocalAgent } from "../local-agent.ts";
import { type ProcessCost, readCost } from "../process-cost.ts";

const apps = 500;
const probedApps = 200;
const execApps = 20;

export const probes: Benchmark = {
  name: "probes",
  about:
    `${apps} apps with two probes each second, so 1,000 probes a second, by kind: the agent's CPU, the targets' not counted. ` +
    `Then ${probedApps} apps probed once a second, and exec probes.`,
  needs: ["executable"],
  run: measure,
};

interface Target {
  ports: { http: number; tcp: number };
  counts(): Promise<{ http: number; tcp: number }>;
}

async function measure({ say, long }: Context): Promise<Figure[]> {
  const measureMs = long ? 60_000 : 6000;
  const child = spawn(process.execPath, [fileURLToPath(new URL("../probe-target.ts", import.meta.url))], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = await once(child.stdout, "data");
    const ports: Target["ports"] = JSON.parse(String(line));
    const counts = async () => JSON.parse((await fetchText(`http://127.0.0.1:${ports.http}/counts`)).text);
    await using local = await startLocalAgent();
    return await measureKinds(local, { ports, counts }, measureMs, say);
  } finally {
    child.kill("SIGKILL");
  }
}

async function measureKinds(
  local: LocalAgent,
  { ports, counts }: Target,
  measureMs: number,
  say: (text: string) => void,
): Promise<Figure[]> {
  await local.give(apps);
  await local.settle(apps);
  const both = (mechanism: object) => () => ({
    livenessProbe: probe(mechanism),
    readinessProbe: probe(mechanism),
  });
  const httpGet = { httpGet: { path: "/", port: ports.http } };
  const tcpSocket = { tcpSocket: { port: ports.tcp } };
  const measureWith = async (spec: (at: number) => object, perSecond: number) => {
    await local.give(apps, spec);
    await reachRate(counts, perSecond);
    return await observe(local.agent.pid(), counts, measureMs);
  };
  say("no probes");
  const none = await measureWith(() => ({}), 0);
  say("httpGet");
  const http = await measureWith(both(httpGet), 2 * apps);
  say("tcpSocket");
  const tcp = await measureWith(both(tcpSocket), 2 * apps);
  say(`${probedApps} apps, httpGet and tcpSocket by turns`);
  const some = await measureWith(
    (at) => at < probedApps ? { livenessProbe: probe(at % 2 ? httpGet : tcpSocket) } : {},
    probedApps,
  );
  say("exec");
  const exec = await measureWith(
    (at) => at < execApps ? { livenessProbe: probe({ exec: { command: ["true"] } }) } : {},
    0,
  );
  const startMs = await measureExec();
  const execs = execApps * exec.seconds;
  return [
    scaled("1,000 httpGet probes a second", http.cores, http.asked, none.cores),
    scaled("1,000 tcpSocket probes a second", tcp.cores, tcp.asked, none.cores),
    {
      figure: `${probedApps} apps probed each second, CPU`,
      ours: some.cores * 100,
      unit: "% of a core",
      note: `half httpGet, half tcpSocket, ${some.asked.toFixed(0)} a second; ${
        apps - probedApps
      } more apps run unprobed; memory then is ${some.anonymousMB.toFixed(1)} MB anonymous, ${
        some.residentMB.toFixed(1)
      } MB resident`,
    },
    {
      figure: "one exec probe, CPU of agent and command",
      ours: Math.max(0, exec.withChildren - none.withChildren) * exec.seconds / execs * 1000,
      unit: "ms",
      limit: { what: "fork and exec of the command alone", value: startMs },
      note: "the command runs in the app's cgroup, as its user, in its environment",
    },
  ];
}

function scaled(figure: string, cores: number, perSecond: number, idle: number): Figure {
  return {
    figure,
    ours: (cores - idle) * 1000 / perSecond,
    unit: "cores",
    asked: 0.5,
    note: `${perSecond.toFixed(0)} a second were counted; the agent takes ${cores.toFixed(3)} cores in all, ${
      idle.toFixed(3)
    } with the same ${apps} apps unprobed`,
  };
}

function probe(mechanism: object): object {
  return { ...mechanism, periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 10 };
}

/** Waits until the probes reach their rate; on a machine that cannot keep up, half a minute. */
async function reachRate(counts: Target["counts"], perSecond: number): Promise<void> {
  const windowMs = 2000;
  for (let tries = 0, last = await total(counts); tries < 15; tries++) {
    await pause(windowMs);
    const now = await total(counts);
    if (Math.abs((now - last) / windowMs * 1000 - perSecond) <= perSecond * 0.05) return;
    last = now;
  }
}

async function total(counts: Target["counts"]): Promise<number> {
  const { http, tcp } = await counts();
  return http + tcp;
}

async function observe(pid: number, counts: Target["counts"], ms: number) {
  const [asked, cost, start] = [await total(counts), readCost(pid), performance.now()];
  await pause(ms);
  const [askedNow, costNow] = [await total(counts), readCost(pid)];
  const seconds = (performance.now() - start) / 1000;
  const all = ({ cpuSeconds, childSeconds }: ProcessCost) => cpuSeconds + childSeconds;
  return {
    seconds,
    asked: (askedNow - asked) / seconds,
    cores: (costNow.cpuSeconds - cost.cpuSeconds) / seconds,
    withChildren: (all(costNow) - all(cost)) / seconds,
    anonymousMB: costNow.anonymousMB,
    residentMB: costNow.residentMB,
  };
}

/** CPU of starting `true` from this process, both sides of the fork, in milliseconds. */
async function measureExec(runs = 200): Promise<number> {
  const before = readCost(process.pid);
  for (let run = 0; run < runs; run++) await once(spawn("true", { stdio: "ignore" }), "exit");
  const after = readCost(process.pid);
  const seconds = after.cpuSeconds + after.childSeconds - before.cpuSeconds - before.childSeconds;
  return seconds / runs * 1000;
}

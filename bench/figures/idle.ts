/**
 * The cost of the agent while its apps sleep, and how long a new agent takes to adopt them all.
 *
 * For each number of apps the agent is killed and restarted: so memory is that of the steady state and not what the starts left
 * behind, and the restart also measures the adoption of the apps. Limits need cgroups; without them apps are found by a mark in
 * their environment, which is more expensive.
 */
import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { waitFor } from "../../test/wait-for.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { fetchText, type LocalAgent, startLocalAgent } from "../local-agent.ts";
import { readCost, readRunMs } from "../process-cost.ts";
import { startPm2 } from "../process-peers.ts";
import { createStartedFiles } from "../started-files.ts";
import { mean, slope } from "../statistics.ts";

const sizes = [0, 100, 200, 500, 1000];
/** By this time after its start the agent has collected its garbage, compiled its code, and run its periodic tasks. */
const settleMs = 15_000;
/** One round of the periodic tasks; two if the figure has a target. */
const periodMs = 10_000;
/** The number of apps with a budget of CPU. */
const budgetedApps = 200;
const pm2Apps = 100;

export const idle: Benchmark = {
  name: "idle",
  about:
    `An agent with ${
      sizes.join(", ")
    } apps that sleep: memory and CPU in the steady state, and the time that a new agent ` +
    "takes after `kill -9` until it is ready and knows every app again.",
  needs: ["executable"],
  run: measure,
};

interface Level {
  apps: number;
  residentMB: number;
  anonymousMB: number;
  cpuPCT: number;
  readyMs: number;
  adoptedMs: number;
}

async function measure({ long, say, chart }: Context): Promise<Figure[]> {
  await using local = await startLocalAgent();
  const levels: Level[] = [];
  for (const apps of sizes) {
    say(`${apps} apps`);
    await local.give(apps);
    await local.files.waitForAll(apps);
    if (apps > 0) await local.settle(apps);
    levels.push(
      await measureLevel(local, apps, long ? 6 * periodMs : apps === budgetedApps ? 2 * periodMs : periodMs),
    );
  }
  say("pm2's daemon");
  const [launcher, pm2] = [launcherKB(local.agent.folder), await measurePm2()];
  drawCharts(levels, chart);
  return describe(levels, launcher, pm2);
}

async function measureLevel({ agent }: LocalAgent, apps: number, measureMs: number): Promise<Level> {
  await agent.kill("SIGKILL");
  const start = performance.now();
  await agent.start();
  await waitFor("the agent is ready", async () => (await fetch(`${agent.url}/readyz`)).ok);
  const readyMs = performance.now() - start;
  await waitFor(`${apps} apps are adopted`, async () => {
    const { text } = await fetchText(`${agent.url}/metrics`);
    return apps === 0 || text.includes(`nckubelet_apps{phase="Running"} ${apps}\n`);
  }, 60_000);
  const adoptedMs = performance.now() - start;
  await pause(settleMs);
  const [startedAt, before] = [performance.now(), readRunMs(agent.pid())];
  await pause(measureMs);
  const cpuPCT = (readRunMs(agent.pid()) - before) / (performance.now() - startedAt) * 100;
  const { residentMB, anonymousMB } = readCost(agent.pid());
  return { apps, residentMB, anonymousMB, cpuPCT, readyMs, adoptedMs };
}

/** Returns the memory of one launcher: its own pages, and its share of shared pages. */
function launcherKB(agentFolder: string): { each: number; count: number } {
  const sizes: number[] = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
      // It names its marks there.
      if (!words[1]?.startsWith(agentFolder) || !words[1].includes("/marks/")) continue;
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
      sizes.push(Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]));
    } catch {
      // It ended meanwhile.
    }
  }
  if (sizes.length === 0) throw new Error(`no launcher in ${agentFolder}`);
  return { each: mean(sizes), count: sizes.length };
}

async function measurePm2(): Promise<{ eachKB: number; emptyMB: number } | { missing: string }> {
  const peer = await startPm2();
  if ("missing" in peer) return peer;
  await using daemon = peer;
  await using files = await createStartedFiles();
  await pause(3000);
  const empty = readCost(daemon.pid);
  await daemon.start(pm2Apps, files);
  await files.waitForAll(pm2Apps);
  await pause(settleMs);
  const full = readCost(daemon.pid);
  return { eachKB: (full.anonymousMB - empty.anonymousMB) * 1024 / pm2Apps, emptyMB: empty.anonymousMB };
}

function describe(
  levels: Level[],
  launcher: { each: number; count: number },
  pm2: { eachKB: number; emptyMB: number } | { missing: string },
): Figure[] {
  const pm2Note = "missing" in pm2 ? pm2.missing : undefined;
  const peer = (what: string, value: number | undefined) => value === undefined ? undefined : { what, value };
  const [emptyMB, eachKB] = "missing" in pm2 ? [] : [pm2.emptyMB, pm2.eachKB];
  // The charts have all levels.
  const shown = levels.filter(({ apps }) => [0, budgetedApps, levels.at(-1)!.apps].includes(apps));
  const perApp = slope(levels.map(({ apps, anonymousMB }) => [apps, anonymousMB])) * 1024;
  return [
    ...shown.flatMap(({ apps, residentMB, anonymousMB, cpuPCT }): Figure[] => [
      {
        figure: `agent with ${apps} idle apps, anonymous memory`,
        ours: anonymousMB,
        unit: "MB",
        asked: apps === 0 ? 22 : undefined,
        peer: apps === 0 ? peer("pm2", emptyMB) : undefined,
      },
      {
        figure: `agent with ${apps} idle apps, resident memory`,
        ours: residentMB,
        unit: "MB",
        note: apps === 0
          ? "beyond the anonymous part it is page cache of the executable, which the kernel takes back when others need it"
          : undefined,
      },
      {
        figure: `agent with ${apps} idle apps, CPU`,
        ours: cpuPCT,
        unit: "% of a core",
        asked: apps === budgetedApps ? 1 : undefined,
      },
    ]),
    {
      figure: "agent's memory, growth per app",
      ours: perApp,
      unit: "KB",
      asked: 20,
      peer: peer("pm2", eachKB),
      note: pm2Note ??
        `slope of the anonymous memory over ${
          sizes.join(", ")
        } apps; pm2 has its daemon alone, measured with ${pm2Apps} apps`,
    },
    {
      figure: "helper memory per app: the launcher",
      ours: launcher.each / 1024,
      unit: "MB",
      peer: { what: "Nomad, published", value: 2 * 14 },
      note:
        `proportional share of ${launcher.count} launchers; Nomad's documents name 14 to 20 MB for each of two helpers per task: cited, not measured`,
    },
    ...shown.slice(1).map(({ apps, adoptedMs }): Figure => ({
      figure: `new agent after kill -9, until all ${apps} apps are adopted`,
      ours: adoptedMs,
      unit: "ms",
      note: "from the start of the program; no app is restarted",
    })),
    { figure: "standalone agent, start to /readyz, no apps", ours: levels[0]!.readyMs, unit: "ms" },
  ];
}

function drawCharts(levels: Level[], chart: Context["chart"]): void {
  const x = { label: "idle apps" };
  const line = (name: string, pick: (level: Level) => number) => ({
    name,
    points: levels.map((level): [number, number] => [level.apps, pick(level)]),
  });
  chart({
    name: "idle-memory",
    title: "Memory of the agent",
    x,
    y: { label: "MB" },
    lines: [line("resident", (level) => level.residentMB), line("anonymous", (level) => level.anonymousMB)],
  });
  chart({
    name: "idle-cpu",
    title: "CPU of the agent",
    x,
    y: { label: "% of a core" },
    lines: [line("CPU", (level) => level.cpuPCT)],
  });
  chart({
    name: "adoption",
    title: "A new agent after kill -9",
    x,
    y: { label: "milliseconds" },
    lines: [line("ready", (level) => level.readyMs), line("all adopted", (level) => level.adoptedMs)],
  });
}

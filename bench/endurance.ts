/**
 * Keeps an agent busy for a long time and checks whether its resource usage grows: a real API server, the built program, a steady
 * rate of changes over 200 apps, and a sample of the agent's usage every five seconds.
 *
 * Usage: node bench/endurance.ts [--minutes 30] [--rate 50] [--apps 200] [--seed 1] [--json FILE] [--chart FILE]
 *
 * Each figure is judged by its slope over the second half (`endurance/trend.ts`). When the load is over and every app is gone, the
 * remaining usage is compared with that before. The exit code is 1 if something grew or leaked.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startAgentProcess } from "../test/agent-process.ts";
import { tempFolder } from "../test/temp-folder.ts";
import { waitFor } from "../test/wait-for.ts";
import { checkout } from "../tools/checkout.ts";
import { renderChart } from "./chart.ts";
import { type ClusterScene, nodeName, withClusterScene } from "./cluster-scene.ts";
import { type Churn, createChurn } from "./endurance/churn.ts";
import { type Sample, takeSample } from "./endurance/sample.ts";
import { judgeTrend, type Trend, type TrendOptions } from "./endurance/trend.ts";
import { ensureExecutable } from "./executable.ts";
import { describeMachine } from "./machine.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    rate: { type: "string", default: "50" },
    apps: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    json: { type: "string", default: join(checkout, "dist/endurance.json") },
    chart: { type: "string", default: join(checkout, "docs/charts/endurance.svg") },
  },
});
const [minutes, rate, apps] = [values.minutes, values.rate, values.apps].map(Number) as [
  number,
  number,
  number,
];
const periodMs = 5000;

type Reading = Sample & { seconds: number; apps: number; cpuPCT: number };
type Figure = Exclude<keyof Reading, "seconds" | "cpuSeconds" | "apps">;

/**
 * Allowed noise, besides 5 % of each figure. Files, timers, cgroups and processes vary with the apps that are starting and ending;
 * a leak of them still shows when all apps are gone.
 */
const judged: Record<Figure, TrendOptions> = {
  residentMB: { floor: 3 },
  anonymousMB: { floor: 2 },
  descriptors: { floor: 4 },
  sockets: { floor: 3 },
  openFiles: { floor: 10, share: 0.25 },
  inotifyWatches: { floor: 2, share: 0.25 },
  threads: { floor: 2 },
  timers: { floor: 5, share: 0.25 },
  cpuPCT: { floor: 1, share: 0.15 },
  cgroups: { floor: 5, share: 0.25 },
  processes: { floor: 10, share: 0.25 },
  zombies: { floor: 2 },
  stateFiles: { floor: 10, share: 0.25 },
  logFolders: { floor: 5, share: 0.25 },
};
/** Figures that must return to their initial value when all apps are gone. */
const returned = [
  "descriptors",
  "sockets",
  "openFiles",
  "inotifyWatches",
  "timers",
  "cgroups",
  "processes",
  "zombies",
  "stateFiles",
] as const;

process.exitCode = await main();

async function main(): Promise<number> {
  process.env.NCKUBELET_BIN = await ensureExecutable(console.log);
  using temp = tempFolder();
  const scripts = temp.path;
  const shellFile = join(scripts, "app.sh");
  await writeFile(shellFile, `#!/bin/sh\necho up\nexec sleep 86400\n`, { mode: 0o755 });
  return await withClusterScene((scene) => endure(scene, shellFile));
}

async function endure({ client, agentFlags }: ClusterScene, shellFile: string): Promise<number> {
  await using agent = await startAgentProcess(agentFlags);
  const looked = {
    pid: agent.pid(),
    url: agent.url,
    stateDir: join(agent.folder, "state"),
    logDir: join(agent.folder, "log"),
    marker: agent.folder,
  };
  const spec = { shellFile, nodeName, cpuPCT: "10", memPCT: "10", terminationGracePeriodSeconds: 2 };
  const churn = createChurn(client, { apps, rate, seed: Number(values.seed), spec });
  await pause(3000);
  const before = await takeSample(looked);

  console.log(`${minutes} minutes, ${rate} changes a second over ${apps} apps, agent ${looked.pid}`);
  const ending = new AbortController();
  const load = churn.run(ending.signal);
  const readings: Reading[] = [];
  const began = performance.now();
  for (let last = before, lastAt = began; performance.now() - began < minutes * 60_000;) {
    await pause(periodMs);
    const [sample, at] = [await takeSample(looked), performance.now()];
    const cpuPCT = (sample.cpuSeconds - last.cpuSeconds) / (at - lastAt) * 100_000;
    readings.push({ ...sample, seconds: (at - began) / 1000, apps: churn.live(), cpuPCT });
    [last, lastAt] = [sample, at];
    if (readings.length % 12 === 0) console.log(describe(readings.at(-1)!, churn));
  }
  ending.abort();
  await load;
  const seconds = (performance.now() - began) / 1000;
  await churn.clear();
  await waitFor("all apps are gone", async () => (await takeSample(looked)).processes === 0, 120_000);
  // Connections stay open for a while, and the last status reports are still in flight.
  await waitFor(
    "what was held is given back",
    async () => leftOver(before, await takeSample(looked)).length === 0,
    60_000,
  )
    .catch(() => {});
  const after = await takeSample(looked);
  return await conclude({ before, after, readings, churn, seconds });
}

interface Outcome {
  before: Sample;
  after: Sample;
  readings: Reading[];
  churn: Churn;
  seconds: number;
}

async function conclude({ before, after, readings, churn, seconds }: Outcome): Promise<number> {
  const figures = Object.keys(judged) as Figure[];
  const trends: Record<string, Trend> = {};
  for (const figure of figures) {
    trends[figure] = judgeTrend(
      readings.map((reading) => [reading.seconds, reading[figure]]),
      judged[figure],
    );
  }
  const changes = Object.values(churn.counts).reduce((sum, count) => sum + count, 0);
  const left = leftOver(before, after);
  const growing = figures.filter((figure) => !trends[figure]!.flat);

  console.log(
    `\n${changes} changes in ${seconds.toFixed(0)} s (${(changes / seconds).toFixed(1)} a second): ${
      JSON.stringify(churn.counts)
    }`,
  );
  console.log(`refused: ${JSON.stringify(churn.refused)}\n`);
  console.log(
    "| figure | before | median under load | growth in the second half | an hour | after | verdict |",
  );
  console.log(`|${" --- |".repeat(7)}`);
  for (const figure of figures) {
    const { median, growth, perHour, flat } = trends[figure]!;
    const cells = [
      figure,
      show(before, figure),
      median.toFixed(1),
      growth.toFixed(2),
      perHour.toFixed(1),
      show(after, figure),
    ];
    console.log(`| ${cells.join(" | ")} | ${flat ? "flat" : "GROWS"} |`);
  }
  const verdict = growing.length + left.length === 0
    ? "flat"
    : `not flat: ${[...growing, ...left].join(", ")}`;
  console.log(`\nverdict: ${verdict}`);

  await save(
    values.json,
    JSON.stringify(
      {
        machine: describeMachine(),
        minutes,
        rate,
        apps,
        seconds,
        changes,
        ...churn,
        before,
        after,
        trends,
        left,
        verdict,
        readings,
      },
      null,
      1,
    ),
  );
  await save(values.chart, drawChart(readings));
  return growing.length + left.length === 0 ? 0 : 1;
}

function drawChart(readings: Reading[]): string {
  const line = (name: string, figure: Figure | "apps") => ({
    name,
    points: readings.map((reading): [number, number] => [reading.seconds / 60, reading[figure]]),
  });
  return renderChart({
    name: "endurance",
    title: `${minutes} minutes at ${rate} changes a second`,
    x: { label: "minutes" },
    y: { label: "MB, or number" },
    lines: [
      line("resident, MB", "residentMB"),
      line("anonymous, MB", "anonymousMB"),
      line("descriptors", "descriptors"),
      line("open files", "openFiles"),
      line("cgroups", "cgroups"),
      line("apps wanted", "apps"),
    ],
  });
}

/** Returns the figures that grew, with a tolerance of one connection and one file. */
function leftOver(before: Sample, after: Sample): string[] {
  return returned.filter((figure) => after[figure] > before[figure] + 3)
    .map((figure) => `${figure} ${before[figure]} before, ${after[figure]} after`);
}

function show(sample: Sample, figure: Figure): string {
  return figure === "cpuPCT" ? "" : String(Math.round(sample[figure] * 10) / 10);
}

function describe(reading: Reading, churn: Churn): string {
  const {
    seconds,
    apps,
    anonymousMB,
    residentMB,
    descriptors,
    openFiles,
    inotifyWatches,
    timers,
    cgroups,
    processes,
    stateFiles,
    cpuPCT,
  } = reading;
  const changes = Object.values(churn.counts).reduce((sum, count) => sum + count, 0);
  return `${(seconds / 60).toFixed(1)} min: ${changes} changes, ${apps} apps, ${
    anonymousMB.toFixed(1)
  } MB anonymous, ` +
    `${
      residentMB.toFixed(1)
    } resident, ${descriptors} descriptors, ${openFiles} open files, ${inotifyWatches} watches, ${timers} timers, ${cgroups} cgroups, ` +
    `${processes} processes, ${stateFiles} state files, ${cpuPCT.toFixed(0)} % CPU`;
}

async function save(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text.endsWith("\n") ? text : `${text}\n`);
}

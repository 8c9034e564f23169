/**
 * Measures the executable: its size, how fast it starts, and how much memory an agent without apps takes, beside the same program
 * run from source by Node and from the bundle by Deno. Prints a table for docs/benchmarks.md.
 *
 * Usage: npm run build && node bench/footprint.ts [--idle SECONDS]
 * Anonymous memory is what counts: the rest is page cache of the executable, shared and given back when others need it.
 */
import { readFileSync, statSync } from "node:fs";
import { cpus, release } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { checkout } from "../tools/checkout.ts";
import { must } from "../tools/command.ts";
import { startStandaloneAgent } from "../tools/standalone-agent.ts";

const starts = 20;
const requests = 10_000;
const { values } = parseArgs({ options: { idle: { type: "string", default: "30" } } });
const idleMs = Number(values.idle) * 1000;

const bundle = join(checkout, "dist/nckubelet.cjs");
const programs: { name: string; command: string[]; files: string[] }[] = [
  {
    name: "`dist/nckubelet`",
    command: [join(checkout, "dist/nckubelet")],
    files: [join(checkout, "dist/nckubelet")],
  },
  {
    name: `Node ${process.versions.node}, source`,
    command: [process.execPath, join(checkout, "src/main.ts")],
    files: [process.execPath],
  },
  {
    name: "Deno, bundle",
    command: [join(checkout, "node_modules/.bin/deno"), "run", "--allow-all", bundle],
    files: [join(checkout, "node_modules/deno/deno"), bundle],
  },
];

console.log(
  `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model}, Linux ${
    release().split("-")[0]
  }\n`,
);
const columns = [
  "program",
  "size, MB",
  "`version`, ms",
  "of that CPU, ms",
  "resident, MB",
  "anonymous, MB",
  "anonymous after 10,000 requests, MB",
];
console.log(`| ${columns.join(" | ")} |\n|${" --- |".repeat(columns.length)}`);
for (const { name, command, files } of programs) {
  const size = files.reduce((total, file) => total + statSync(file).size, 0) / 1e6;
  const start = await measureStart(command);
  const cpu = await measureStartCpu(command);
  const { idle, later } = await measureMemory(command);
  const cells = [size, start, cpu, idle.resident, idle.anonymous, later.anonymous].map((cell) =>
    cell.toFixed(cell < 100 ? 1 : 0)
  );
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}

/** The CPU time of a run of `version`, in the mean: what the start costs on a machine that is busy with other things too. */
async function measureStartCpu(command: string[]): Promise<number> {
  const script = `i=0; while [ $i -lt ${starts} ]; do "$@" version >/dev/null; i=$((i + 1)); done; times`;
  const [, children = ""] = (await must("sh", ["-c", script, "sh", ...command])).split("\n");
  const times = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  return times.reduce((total, [, minutes, seconds]) => total + Number(minutes) * 60 + Number(seconds), 0) *
    1000 / starts;
}

/** The median time of a whole run of `version`, after one to warm up. */
async function measureStart([file = "", ...words]: string[]): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run <= starts; run++) {
    const start = performance.now();
    await must(file, [...words, "version"]);
    if (run > 0) times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[starts / 2] ?? NaN;
}

interface Memory {
  resident: number;
  anonymous: number;
}

/** What an agent without apps takes when nothing has happened for a while, and after some work. */
async function measureMemory(command: string[]): Promise<{ idle: Memory; later: Memory }> {
  await using agent = await startStandaloneAgent(command);
  await pause(idleMs);
  const idle = readMemory(agent.pid);
  for (let sent = 0; sent < requests; sent++) await (await fetch(`${agent.url}/healthz`)).text();
  await pause(idleMs);
  return { idle, later: readMemory(agent.pid) };
}

function readMemory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
  return { resident: megabytes("VmRSS"), anonymous: megabytes("RssAnon") };
}

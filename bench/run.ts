/**
 * Measures, prints a table, and writes dist/bench.json.
 *
 * Usage: npm run bench [-- NAME…] [--long] [--json FILE] [--list] [--write-docs]
 *   NAME…         only these benchmarks; their part of the JSON is replaced, the rest stays
 *   --long        run the full measurements: some take minutes
 *   --json FILE   write the results there
 *   --list        list the benchmarks, and measure nothing
 *   --write-docs  measure nothing; write the results into docs/benchmarks.md and docs/charts
 *
 * A benchmark that cannot run, or fails, reports why and does not stop the others.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { findPart } from "../test/harness/parts.ts";
import { checkout } from "../tools/checkout.ts";
import { must } from "../tools/command.ts";
import { benchmarks } from "./all.ts";
import type { Benchmark, Figure, Need } from "./benchmark.ts";
import { type Chart, renderChart } from "./chart.ts";
import { renderResults, replaceGenerated } from "./docs.ts";
import { ensureExecutable } from "./executable.ts";
import { describeMachine, measureOthers } from "./machine.ts";
import { addOutcome, type Outcome, readResults, type Results, writeResults } from "./results.ts";
import { renderNotes, renderTable } from "./table.ts";

async function main(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      long: { type: "boolean", default: false },
      json: { type: "string", default: join(checkout, "dist/bench.json") },
      list: { type: "boolean", default: false },
      "write-docs": { type: "boolean", default: false },
    },
  });
  if (values.list) return console.log(benchmarks.map(({ name, about }) => `${name}: ${about}`).join("\n"));
  if (values["write-docs"]) return await writeDocs(values.json);
  const startedAt = Date.now();
  for (const benchmark of pick(positionals)) await runOne(benchmark, values);
  console.log(summary(await readResults(values.json) ?? { machine: describeMachine(), outcomes: {} }));
  console.log(`\n${((Date.now() - startedAt) / 60_000).toFixed(1)} minutes; results in ${values.json}`);
}

function pick(names: string[]): Benchmark[] {
  const unknown = names.find((name) => !benchmarks.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new Error(
      `no benchmark ${JSON.stringify(unknown)}; there are ${benchmarks.map(({ name }) => name).join(", ")}`,
    );
  }
  return names.length === 0 ? benchmarks : benchmarks.filter(({ name }) => names.includes(name));
}

async function runOne(benchmark: Benchmark, { long, json }: { long: boolean; json: string }): Promise<void> {
  const { name, about } = benchmark;
  const say = (text: string) => console.error(`${name}: ${text}`);
  const charts: Chart[] = [];
  let figures: Figure[] = [];
  let trouble: string | undefined;
  let [othersPCT, startedAt] = [0, Date.now()];
  try {
    const executable = await meetNeeds(benchmark.needs, say);
    othersPCT = await measureOthers();
    startedAt = Date.now();
    figures = await benchmark.run({ executable, long, say, chart: (chart) => charts.push(chart) });
  } catch (error) {
    trouble = (error as Error).message;
    process.exitCode = 1;
  }
  const seconds = (Date.now() - startedAt) / 1000;
  const at = new Date(startedAt).toISOString();
  const outcome: Outcome = {
    about,
    at,
    seconds,
    othersPCT,
    long,
    figures,
    charts,
    ...(trouble && { trouble }),
  };
  await writeResults(json, addOutcome(await readResults(json), describeMachine(), name, outcome));
  console.log(`\n${describeOutcome(name, outcome)}`);
}

/** Throws if a requirement is missing; returns the path of the program, which is built if needed. */
async function meetNeeds(needs: Need[], say: (text: string) => void): Promise<string> {
  let executable = "";
  for (const need of needs) {
    if (need === "executable") {
      executable = await ensureExecutable(say);
      // The test harness reads the path of the program from here.
      process.env.NCKUBELET_BIN = executable;
    } else if (need === "root") {
      if (process.getuid?.() !== 0) throw new Error("only root can measure this");
    } else {
      const found = findPart(need);
      if ("missing" in found) throw new Error(String(found.missing));
    }
  }
  return executable;
}

function describeOutcome(name: string, { seconds, othersPCT, figures, trouble }: Outcome): string {
  const title = `${name}, ${seconds.toFixed(0)} s, other work took ${othersPCT}% of the machine before`;
  if (trouble) return `${title}\nnot measured: ${trouble}`;
  return [title, renderTable(figures), renderNotes(figures)].join("\n");
}

/** Returns the outcomes in the order of the list; those of removed benchmarks are dropped. */
function inOrder({ machine, outcomes }: Results): Results {
  const names = benchmarks.map(({ name }) => name).filter((name) => name in outcomes);
  return { machine, outcomes: Object.fromEntries(names.map((name) => [name, outcomes[name]!])) };
}

function summary(results: Results): string {
  const outcomes = Object.values(inOrder(results).outcomes);
  return `\nAll figures so far\n${renderTable(outcomes.flatMap(({ figures }) => figures))}`;
}

async function writeDocs(json: string): Promise<void> {
  const found = await readResults(json);
  if (!found) throw new Error(`no results in ${json}: run the benchmarks first`);
  const results = inOrder(found);
  const page = join(checkout, "docs/benchmarks.md");
  const charts = join(checkout, "docs/charts");
  await mkdir(charts, { recursive: true });
  for (const chart of Object.values(results.outcomes).flatMap((outcome) => outcome.charts)) {
    await writeFile(join(charts, `${chart.name}.svg`), renderChart(chart));
  }
  await writeFile(page, replaceGenerated(await readFile(page, "utf8"), renderResults(results)));
  await must(join(checkout, "node_modules/.bin/deno"), ["fmt", "--quiet", page, charts], { cwd: checkout });
}

await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`bench: ${error.message}`);
  process.exitCode = 1;
});

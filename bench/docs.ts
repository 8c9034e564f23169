/** Generates the part of docs/benchmarks.md that shows the results of a run. Pure. */
import { type Figure, isReached, ratioOf } from "./benchmark.ts";
import { formatValue } from "./format.ts";
import { cellsOf, columns } from "./table.ts";
import type { Outcome, Results } from "./results.ts";

const begin = "<!-- figures: written by bench/run.ts -->";
const end = "<!-- figures: end -->";
/** If other processes use more than this share of the machine, times are marked. */
const busyPCT = 15;

/** Returns the page with its generated part replaced; the handwritten text around it stays. */
export function replaceGenerated(page: string, generated: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has no part between ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${generated.trim()}\n\n${page.slice(to)}`;
}

/** Renders all figures as one table, and the charts that `chartPath` finds. The file of a benchmark says what it does. */
export function renderResults(
  { machine, outcomes }: Results,
  chartPath: (name: string) => string = (name) => `charts/${name}.svg`,
): string {
  const parts = Object.entries(outcomes);
  const { cpus, model, memoryGB, kernel, node } = machine;
  const rows = parts.flatMap(([name, outcome]) => [
    [describeRun(name, outcome), "", "", "", ""],
    ...rowsOf(outcome.figures),
  ]);
  return [
    `Measured on ${cpus} × ${model}, ${memoryGB} GB, Linux ${kernel}, Node ${node}.`,
    renderShortfalls(parts.flatMap(([, { figures }]) => figures)),
    "### All figures",
    // Padded cells would double the size of the page.
    "<!-- deno-fmt-ignore-start -->",
    [columns, columns.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n"),
    "<!-- deno-fmt-ignore-end -->",
    ...parts.flatMap(([, { charts }]) => charts).map(({ title, name }) => `![${title}](${chartPath(name)})`),
  ].join("\n\n");
}

/** A figure that is compared with several peers is one row. */
function rowsOf(figures: Figure[]): string[][] {
  return [...Map.groupBy(figures, ({ figure }) => figure).values()].map((same) => {
    const rows = same.map(cellsOf);
    return columns.map((_, at) => {
      const cells = rows.map((row) => row[at]!);
      return new Set(cells).size === 1 ? cells[0]! : cells.join("; ");
    });
  });
}

/** Lists what a skeptic checks first: figures where others are better, and missed targets. */
function renderShortfalls(figures: Figure[]): string {
  const ahead = figures.filter((figure) => (ratioOf(figure) ?? 1) < 1);
  const missed = figures.filter((figure) => isReached(figure) === false);
  const list = (rows: string[]) => [...new Set(rows)].map((row) => `- ${row}`).join("\n") || "- nothing";
  return [
    "### Where a peer is ahead",
    list(
      ahead.map(({ figure, ours = 0, unit, peer }) =>
        `${figure}: ${formatValue(ours, unit)}, ${peer!.what} ${formatValue(peer!.value, unit)}`
      ),
    ),
    "### Asked and not reached",
    list(
      missed.map(({ figure, ours = 0, unit, asked = 0 }) =>
        `${figure}: ${formatValue(ours, unit)}, asked ${formatValue(asked, unit)}`
      ),
    ),
  ].join("\n\n");
}

function describeRun(name: string, { at, othersPCT, long, trouble }: Outcome): string {
  const notes = [
    at.slice(0, 10),
    long ? "`--long`" : "",
    othersPCT > busyPCT ? `**busy**: other work took ${othersPCT}% of the machine` : "",
    trouble ? `not measured: ${trouble}` : "",
  ];
  return `**${name}**, ${notes.filter(Boolean).join(", ")}`;
}

import type { Evidence, Invariant, LineNotes } from "../evidence.ts";

/**
 * Every line that an app wrote is in its log, once and in order. A disk that was full may cost the oldest part and the end of a log;
 * what it costs in between is noted there.
 */
export const logLines: Invariant = {
  name: "no log line lost or doubled",
  judge: (evidence) => evidence.nodes.flatMap((node) => judgeNode(node, evidence)),
};

function judgeNode(
  { name: node, appLogs, logsWereFull }: Evidence["nodes"][number],
  evidence: Evidence,
): string[] {
  return [...appLogs].flatMap(([name, text]) => {
    const app = evidence.apps.find((app) => app.name === name);
    if (!app) return [];
    const inLog = readLines(text);
    const runs = evidence.stories.filter((story) => story.uid === app.uid && story.node === node);
    return runs.flatMap(({ run }) => {
      const notes = evidence.lines.get(run);
      // A launcher that is killed while the disk is full takes along that it owes a note.
      const fullDisk = !logsWereFull ? "never" : app.excused ? "unnoted" : "noted";
      const complaint = notes && compare(inLog.get(run) ?? [], notes, fullDisk);
      return complaint ? [`${name} on ${node}, run ${run}: ${complaint}`] : [];
    });
  });
}

interface FoundLine {
  number: number;
  /** The log notes a loss before this line, and after the run's last one. */
  afterLoss: boolean;
}

/** Returns the lines in a log, by run. A line that a full disk truncated has no newline and does not count. */
export function readLines(text: string): Map<string, FoundLine[]> {
  const lines = new Map<string, FoundLine[]>();
  let losses = 0;
  const seenLosses = new Map<string, number>();
  for (
    const [, run, number] of text.matchAll(
      /<([a-z0-9-]+) (\d+)>|^nckubelet: up to \d+ bytes of output are lost/gm,
    )
  ) {
    if (run === undefined) losses++;
    else {
      const found = { number: Number(number), afterLoss: (seenLosses.get(run) ?? 0) < losses };
      lines.set(run, [...lines.get(run) ?? [], found]);
      seenLosses.set(run, losses);
    }
  }
  return lines;
}

function compare(
  found: FoundLine[],
  notes: LineNotes,
  fullDisk: "never" | "noted" | "unnoted",
): string | undefined {
  const numbers = found.map(({ number }) => number);
  const outOfOrder = numbers.find((number, index) => index > 0 && number <= numbers[index - 1]!);
  if (outOfOrder !== undefined) return `line ${outOfOrder} is there twice, or out of order`;
  const there = new Set(numbers);
  const mayBeLost = (number: number) => {
    if (fullDisk !== "noted") return fullDisk === "unnoted";
    const next = found.findIndex((line) => line.number > number);
    return next <= 0 || found[next]!.afterLoss;
  };
  const lost = notes.wrote.filter((number) => !there.has(number) && !mayBeLost(number));
  return lost.length > 0
    ? `${lost.length} of ${notes.wrote.length} lines are lost, the first is ${lost[0]}`
    : undefined;
}

import type { Evidence, Invariant, LineNotes } from "../evidence.ts";

/** Every line that an app wrote is in its log, once and in order; what was written while the disk of the logs was full may be lost. */
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
      const complaint = notes && compare(inLog.get(run) ?? [], notes, { mayLackLines: logsWereFull });
      return complaint ? [`${name} on ${node}, run ${run}: ${complaint}`] : [];
    });
  });
}

/** Returns the numbers in a log, by run. A line that a full disk truncated has no newline and does not count. */
export function readLines(text: string): Map<string, number[]> {
  const lines = new Map<string, number[]>();
  for (const [, run = "", number] of text.matchAll(/<([a-z0-9-]+) (\d+)>/g)) {
    const numbers = lines.get(run) ?? [];
    numbers.push(Number(number));
    lines.set(run, numbers);
  }
  return lines;
}

function compare(
  found: number[],
  notes: LineNotes,
  { mayLackLines }: { mayLackLines: boolean },
): string | undefined {
  const outOfOrder = found.find((number, index) => index > 0 && number <= found[index - 1]!);
  if (outOfOrder !== undefined) return `line ${outOfOrder} is there twice, or out of order`;
  const there = new Set(found);
  const lost = mayLackLines ? [] : notes.wrote.filter((number) => !there.has(number));
  return lost.length > 0
    ? `${lost.length} of ${notes.wrote.length} lines are lost, the first is ${lost[0]}`
    : undefined;
}

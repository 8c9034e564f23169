/** A reader of the Prometheus text format, for tests: strict about all that we write. */

export interface ParsedMetrics {
  types: Record<string, string>;
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

/** The families and samples of a scrape; throws on a line that is neither. */
export function parseMetrics(text: string): ParsedMetrics {
  const types: Record<string, string> = {};
  const helped = new Set<string>();
  const samples: ParsedMetrics["samples"] = [];
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const help = /^# HELP (\S+) (\S.*)$/.exec(line);
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    const sample = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (help) helped.add(help[1]!);
    else if (type && helped.has(type[1]!)) types[type[1]!] = type[2]!;
    else if (sample) {
      samples.push({ name: sample[1]!, labels: parseLabels(sample[2] ?? ""), value: number(sample[3]!) });
    } else throw new Error(`not a line of a scrape: ${JSON.stringify(line)}`);
  }
  return { types, samples };
}

function parseLabels(text: string): Record<string, string> {
  const labels = [...text.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)];
  if (labels.map(([whole]) => whole).join("") !== text) {
    throw new Error(`not labels: ${JSON.stringify(text)}`);
  }
  return Object.fromEntries(labels.map(([, name, value]) => [name, value]));
}

function number(text: string): number {
  const value = text === "+Inf" ? Infinity : Number(text);
  if (Number.isNaN(value)) throw new Error(`not a value: ${JSON.stringify(text)}`);
  return value;
}

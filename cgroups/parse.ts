/** Parses the text of cgroup v2 files. `where` names the file in errors. */
import { CgroupError } from "./error.ts";

/** Parses `usage_usec 12\nuser_usec 8`: one number per key. */
export function parseFlat(text: string, where: string): Record<string, number> {
  const values: Record<string, number> = {};
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const space = line.indexOf(" ");
    values[line.slice(0, space)] = parseAmount(line.slice(space + 1), where);
  }
  return values;
}

/** Parses a number, or `max` as Infinity. */
export function parseAmount(text: string, where: string): number {
  if (text === "max") return Infinity;
  const amount = text === "" ? NaN : Number(text);
  if (!Number.isNaN(amount)) return amount;
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  throw new CgroupError(`cannot parse ${JSON.stringify(shown)} in ${where}: not a number`, {
    code: "EPARSE",
  });
}

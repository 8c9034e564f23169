/** The three text shapes of cgroup v2 files. `where` names the file in errors. */
import { CgroupError } from "./error.ts";

/** `usage_usec 12\nuser_usec 8`: one number per key. */
export function parseFlat(text: string, where: string): Record<string, number> {
  const values: Record<string, number> = {};
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const space = line.indexOf(" ");
    values[line.slice(0, space)] = parseAmount(line.slice(space + 1), where);
  }
  return values;
}

/** `8:0 rbytes=1 wbytes=2`: named numbers per key. A device without figures yet is a key with none. */
export function parseNested(text: string, where: string): Record<string, Record<string, number>> {
  const rows: Record<string, Record<string, number>> = {};
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [key = "", ...pairs] = line.split(" ");
    const row: Record<string, number> = rows[key] ??= {};
    for (const pair of pairs) {
      const equals = pair.indexOf("=");
      if (equals > 0) row[pair.slice(0, equals)] = parseAmount(pair.slice(equals + 1), where);
    }
  }
  return rows;
}

/** A number, or `max`, which is Infinity. */
export function parseAmount(text: string, where: string): number {
  if (text === "max") return Infinity;
  const amount = text === "" ? NaN : Number(text);
  if (!Number.isNaN(amount)) return amount;
  throw new CgroupError(`cannot parse ${JSON.stringify(text)} in ${where}: not a number`, {
    path: where,
    value: text,
    code: "EPARSE",
  });
}

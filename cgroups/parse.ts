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
  // A map, since a key is whatever the text says: the `__proto__` of an object is that of all of them.
  const rows = new Map<string, Record<string, number>>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [key = "", ...pairs] = line.split(" ");
    const row = rows.get(key) ?? {};
    rows.set(key, row);
    for (const pair of pairs) {
      const equals = pair.indexOf("=");
      if (equals > 0) row[pair.slice(0, equals)] = parseAmount(pair.slice(equals + 1), where);
    }
  }
  return Object.fromEntries(rows);
}

/** A number, or `max`, which is Infinity. */
export function parseAmount(text: string, where: string): number {
  if (text === "max") return Infinity;
  const amount = text === "" ? NaN : Number(text);
  if (!Number.isNaN(amount)) return amount;
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  throw new CgroupError(`cannot parse ${JSON.stringify(shown)} in ${where}: not a number`, {
    path: where,
    value: shown,
    code: "EPARSE",
  });
}

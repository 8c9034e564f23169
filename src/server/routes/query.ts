import type { Context } from "hono";
import { closest } from "../../lib/closest.ts";
import { parseTime } from "../../lib/time.ts";
import { Refusal } from "../refusal.ts";

/** How each query parameter of a route is read; a reader throws an Error that says what the value must be. */
export type QueryShape<T> = { [Name in keyof T]-?: (value: string) => T[Name] };

/** Returns the query of a request. An unknown, invalid or repeated parameter is a 400 with its name and value. */
export function readQuery<T>({ req }: Context, shape: QueryShape<T>): Partial<T> {
  const found: Partial<T> = {};
  for (const [name, values] of Object.entries(req.queries())) {
    const [value = "", ...more] = values;
    if (!Object.hasOwn(shape, name)) throw new Refusal(400, unknownParameter(name, Object.keys(shape)));
    if (more.length > 0) throw new Refusal(400, `query parameter ${name} is given ${values.length} times`);
    try {
      found[name as keyof T] = shape[name as keyof T](value);
    } catch (error) {
      throw new Refusal(
        400,
        `query parameter ${name}: Invalid value: ${JSON.stringify(value)}: ${(error as Error).message}`,
      );
    }
  }
  return found;
}

/** Reads a whole number from `min` to `max`. */
export function wholeNumber(max: number, min = 0): (value: string) => number {
  return (value) => {
    if (!/^\d{1,15}$/.test(value) || Number(value) > max || Number(value) < min) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return Number(value);
  };
}

/** Reads a time of RFC 3339. */
export function time(value: string): Date {
  const found = parseTime(value);
  if (!found) throw new Error("must be a time of RFC 3339, such as 2026-11-17T07:04:14Z");
  return found;
}

/** Reads true or false; a name without a value means true. */
export function flag(value: string): boolean {
  if (["", "true", "1"].includes(value)) return true;
  if (["false", "0"].includes(value)) return false;
  throw new Error("must be true or false");
}

function unknownParameter(name: string, known: string[]): string {
  const near = closest(name, known);
  const hint = near ? `; did you mean ${near}?` : known.length > 0 ? `; known are ${known.join(", ")}` : "";
  return `query parameter ${JSON.stringify(name)} is unknown${hint}`;
}

import type { Context } from "hono";
import { closest } from "../../lib/closest.ts";
import { Refusal } from "../refusal.ts";

/** How each parameter of a route's query is read; a reader throws an Error that says what the value must be. */
export type QueryShape<T> = { [Name in keyof T]-?: (value: string) => T[Name] };

/** The query of a request. A parameter that is unknown, wrong or given twice is a 400 with its name and value. */
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

/** A whole number from 0 to `most`. */
export function wholeNumber(most: number): (value: string) => number {
  return (value) => {
    if (!/^\d{1,15}$/.test(value) || Number(value) > most) {
      throw new Error(`must be a whole number from 0 to ${most}`);
    }
    return Number(value);
  };
}

/** True and false; a name without a value means true. */
export function flag(value: string): boolean {
  if (["", "true", "1"].includes(value)) return true;
  if (["false", "0"].includes(value)) return false;
  throw new Error("must be true or false");
}

function unknownParameter(name: string, known: string[]): string {
  const near = closest(name, known);
  const hint = near ? `; did you mean ${near}?` : known.length > 0 ? `; there are ${known.join(", ")}` : "";
  return `query parameter ${JSON.stringify(name)} is unknown here${hint}`;
}

/**
 * The syntax of `spec.schedule`: the five cron fields, optionally preceded by seconds, or a nickname.
 *
 * It is a strict subset of what node-cron accepts. node-cron expands ranges before it checks them, so
 * `0-999999999 * * * *` would cost gigabytes; every expression passes this check first.
 */

import { quote } from "../field-error.ts";

/** `numbers` is a pattern of what lies between `min` and `max`, for API servers. */
type Field = { name: string; min: number; max: number; numbers: string; names?: readonly string[] };

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
export const nicknames = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
const longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export const cronFields: readonly Field[] = [
  { name: "second", min: 0, max: 59, numbers: "[0-5]?[0-9]" },
  { name: "minute", min: 0, max: 59, numbers: "[0-5]?[0-9]" },
  { name: "hour", min: 0, max: 23, numbers: "[01]?[0-9]|2[0-3]" },
  { name: "day of month", min: 1, max: 31, numbers: "0?[1-9]|[12][0-9]|3[01]" },
  { name: "month", min: 1, max: 12, numbers: "0?[1-9]|1[0-2]", names: months },
  { name: "day of week", min: 0, max: 7, numbers: "0?[0-7]", names: weekdays },
];

export function cronProblem(expression: string): string | undefined {
  if (expression.startsWith("@")) {
    return nicknames.includes(expression)
      ? undefined
      : `must be one of ${nicknames.join(", ")}, or have five fields`;
  }
  const texts = expression.split(" ").filter((text) => text !== "");
  if (texts.length < 5 || texts.length > 6) {
    return `must have five fields (minute, hour, day of month, month, day of week), not ${texts.length}`;
  }
  const used = cronFields.slice(-texts.length);
  for (const [i, field] of used.entries()) {
    const problem = fieldProblem(texts[i]!, field);
    if (problem) return problem;
  }
  return neverDue(texts.at(-3)!, texts.at(-2)!);
}

function fieldProblem(text: string, field: Field): string | undefined {
  if (text === "?" && field.name.startsWith("day")) return undefined;
  const bad = text.split(",").find((part) => !isPart(part, field));
  return bad === undefined
    ? undefined
    : `${quote(bad)} is not a valid ${field.name} (${field.min} to ${field.max})`;
}

// One of: *  */15  7  7-12  7-12/2
function isPart(part: string, field: Field): boolean {
  const [range = "", step, ...rest] = part.split("/");
  if (rest.length > 0) return false;
  if (step !== undefined && (!/^[0-9]{1,2}$/.test(step) || Number(step) < 1)) return false;
  if (range === "*") return true;
  const [first, last, ...more] = range.split("-").map((text) => valueOf(text, field));
  if (first === undefined || more.length > 0) return false;
  if (!range.includes("-")) return step === undefined;
  return last !== undefined && first <= last;
}

function valueOf(text: string, field: Field): number | undefined {
  const named = field.names?.indexOf(text.toLowerCase()) ?? -1;
  const value = named >= 0 ? named + field.min : /^[0-9]{1,2}$/.test(text) ? Number(text) : -1;
  return value >= field.min && value <= field.max ? value : undefined;
}

// "0 0 31 2 *" would wait forever.
function neverDue(daysText: string, monthsText: string): string | undefined {
  const days = plainNumbers(daysText, cronFields[3]!);
  const monthNumbers = plainNumbers(monthsText, cronFields[4]!);
  if (!days || !monthNumbers) return undefined;
  const due = monthNumbers.some((month) => days.some((day) => day <= longestMonths[month - 1]!));
  return due ? undefined : `month ${monthsText} has no day ${daysText}`;
}

// The first, and so smallest, number of each part of a list; undefined if the list has a star.
function plainNumbers(text: string, field: Field): number[] | undefined {
  if (/[*?]/.test(text)) return undefined;
  return text.split(",").map((part) => valueOf(part.split(/[-/]/)[0]!, field)!);
}

/**
 * When an app runs, in CEL for API servers: what the local validator says through `cronProblem`, but for ranges that run backwards and for
 * days that no month has.
 */
import { cronFields, cronProblem, nicknames } from "./cron.ts";
import type { NCAppSpec } from "../types.ts";
import type { Rule } from "./rule.ts";

const parts = "self.schedule.split(' ').filter(part, part != '')";
const isTimed = "has(self.schedule) && size(self.schedule) > 0 && !self.schedule.startsWith('@')";

/** Returns the pattern of one item of a field: `*`, a number, a name or a range, with or without a step. */
export function cronItemPattern({ numbers, names = [] }: typeof cronFields[number]): string {
  const value = `(${[numbers, ...names].join("|")})`;
  const step = "(/(0?[1-9]|[1-9][0-9]))?";
  return `(?i)^([*]${step}|${value}(-${value}${step})?)$`;
}

/** The fields are counted from the end: the seconds may be missing. */
const fieldRules = cronFields.map((field, index): Rule => {
  const { name, min, max, names = [] } = field;
  const fromEnd = cronFields.length - index;
  const text = `${parts}[size(${parts}) - ${fromEnd}]`;
  const isAny = name.startsWith("day") ? `${text} == '?' || ` : "";
  return {
    at: "spec",
    blames: "schedule",
    message: `the ${name} must be ${min} to ${max}${
      names.length > 0 ? `, ${names[0]} to ${names.at(-1)}` : ""
    }, *, or a list, range or step of these`,
    cel: `!(${isTimed}) || !(size(${parts}) in [${fromEnd > 5 ? "6" : "5, 6"}]) || ${isAny}` +
      `${text}.split(',').all(item, item.matches('${cronItemPattern(field)}'))`,
    // The rule above says it.
    holds: () => true,
  };
});

export const scheduleRules: readonly Rule[] = [
  {
    at: "spec",
    blames: "schedule",
    message:
      "must have five fields (minute, hour, day of month, month, day of week), six with seconds first, or be one of " +
      nicknames.join(", "),
    cel: "!has(self.schedule) || size(self.schedule) == 0 || (self.schedule.startsWith('@') ? " +
      `self.schedule in [${nicknames.map((name) => `'${name}'`).join(", ")}] : size(${parts}) in [5, 6])`,
    holds: ({ schedule = "" }: NCAppSpec) => schedule === "" || (cronProblem(schedule) ?? true),
  },
  ...fieldRules,
  {
    at: "spec.timeZone",
    message: "must be a time zone such as Europe/Berlin or UTC",
    // An unknown zone is an error, which the server reports with this message, at the field of the rule.
    cel: "size(self) == 0 || timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0",
    holds: (timeZone: string) => timeZone === "" || isTimeZone(timeZone),
  },
];

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

import { cronProblem } from "../cron.ts";
import { envVarSource } from "../schema/schema.ts";
import type { EnvVar, NCAppSpec } from "../types.ts";
import { exactlyOneOf, type Rule } from "./rule.ts";

const accounts = (["runAsUser", "runAsGroup"] as const).map((name): Rule => ({
  at: "spec",
  blames: name,
  message: "must be at most 4294967294",
  cel: `!has(self.${name}) || type(self.${name}) == int || ` +
    `!self.${name}.matches('^[0-9]+$') || int(self.${name}) <= 4294967294`,
  holds: (self: NCAppSpec) => !(Number(self[name] ?? 0) > 4_294_967_294),
}));

const env: Rule[] = [
  {
    at: "spec.env[]",
    blames: "valueFrom",
    message: "must not be set together with value",
    cel: "!has(self.valueFrom) || !has(self.value) || size(self.value) == 0",
    holds: ({ value = "", valueFrom }: EnvVar) => !valueFrom || value === "",
  },
  exactlyOneOf("spec.env[].valueFrom", Object.keys(envVarSource.properties)),
];

/** Rules about what runs and when. */
export const programRules: readonly Rule[] = [
  {
    at: "spec",
    blames: "shellFileSHA256",
    message: "must be set if shellFile is an http:// URL: anyone on the network path could change the script",
    cel: "!has(self.shellFile) || !self.shellFile.startsWith('http://') || " +
      "(has(self.shellFileSHA256) && size(self.shellFileSHA256) > 0)",
    holds: ({ shellFile = "", shellFileSHA256 = "" }: NCAppSpec) =>
      !shellFile.startsWith("http://") || shellFileSHA256 !== "",
  },
  {
    at: "spec",
    blames: "shellFile",
    message: "must be a URL with a host name",
    holds: ({ shellFile = "" }: NCAppSpec) => !/^https?:/.test(shellFile) || URL.canParse(shellFile),
  },
  {
    at: "spec",
    blames: "maxBackoffSeconds",
    message: "must not be less than backoffSeconds",
    cel: "self.maxBackoffSeconds >= self.backoffSeconds",
    holds: ({ backoffSeconds = 0, maxBackoffSeconds = 0 }: NCAppSpec) => maxBackoffSeconds >= backoffSeconds,
  },
  {
    at: "spec",
    blames: "schedule",
    message: "must be a cron expression",
    holds: ({ schedule = "" }: NCAppSpec) => schedule === "" || (cronProblem(schedule) ?? true),
  },
  {
    at: "spec",
    blames: "timeZone",
    message: "must be a time zone such as Europe/Berlin or UTC",
    holds: ({ timeZone = "" }: NCAppSpec) => timeZone === "" || isTimeZone(timeZone),
  },
  ...accounts,
  ...env,
];

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

import { envVarSource, explainMismatch, percent } from "../schema/schema.ts";
import type { EnvVar, NCAppSpec } from "../types.ts";
import { exactlyOneOf, type Rule } from "./rule.ts";
import { scheduleRules } from "./schedule.ts";

const accounts = (["runAsUser", "runAsGroup"] as const).map((name): Rule => ({
  at: "spec",
  blames: name,
  message: "must be at most 4294967294",
  cel: `!has(self.${name}) || type(self.${name}) == int || ` +
    `!self.${name}.matches('^[0-9]+$') || int(self.${name}) <= 4294967294`,
  holds: (self: NCAppSpec) => !(Number(self[name] ?? 0) > 4_294_967_294),
}));

/** The server says it in words; without CEL the pattern of the schema does. */
const caps = (["cpuPCT", "memPCT"] as const).map((name): Rule => ({
  at: "spec",
  blames: name,
  message: explainMismatch(percent, ""),
  cel: `!has(self.${name}) || (type(self.${name}) == int ? self.${name} > 0 && self.${name} <= 100 : ` +
    `string(self.${name}).matches('${percent.replaceAll("\\", "\\\\")}'))`,
  // The schema has said it.
  holds: () => true,
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
    at: "spec.update",
    blames: "progressDeadlineSeconds",
    message: "must be greater than minReadySeconds",
    cel: "self.progressDeadlineSeconds > self.minReadySeconds",
    holds: ({ minReadySeconds = 0, progressDeadlineSeconds = 0 }: NonNullable<NCAppSpec["update"]>) =>
      progressDeadlineSeconds > minReadySeconds,
  },
  ...scheduleRules,
  ...caps,
  {
    at: "spec",
    blames: "reloadCommand",
    message: "must not be set together with reloadSignal",
    cel: "!has(self.reloadCommand) || !has(self.reloadSignal)",
    holds: ({ reloadCommand, reloadSignal }: NCAppSpec) => !reloadCommand || !reloadSignal,
  },
  ...accounts,
  ...env,
];

import type { NCAppSetSpec } from "../types.ts";
import type { Rule } from "./rule.ts";

/** Fields that a job decides about. An override that changed one could make an app of the job run forever. */
const jobFields = ["restartPolicy", "schedule", "suspend"] as const;

type Spec = NCAppSetSpec;

/** Rules of an NCAppSet that is a job. */
export const jobRules: readonly Rule[] = [
  inJob("replicas", {
    message: "cannot be used with job: how many apps complete is job.completions",
    cel: "!has(self.replicas)",
    holds: ({ replicas }) => replicas === undefined,
  }),
  inJob("paused", {
    message: "cannot be used with job: use job.suspend",
    cel: "!has(self.paused) || !self.paused",
    holds: ({ paused = false }) => !paused,
  }),
  inJob("template.spec.restartPolicy", {
    message: "must be Never or OnFailure in a job: with Always, the default, an app never completes",
    cel:
      "has(self.template.spec.restartPolicy) && self.template.spec.restartPolicy in ['Never', 'OnFailure']",
    holds: ({ template: { spec } }) => ["Never", "OnFailure"].includes(spec.restartPolicy ?? "Always"),
  }),
  inJob("template.spec.schedule", {
    message: "cannot be used in a job, which runs once",
    cel: "!has(self.template.spec.schedule) || self.template.spec.schedule == ''",
    holds: ({ template: { spec } }) => !spec.schedule,
  }),
  inJob("template.spec.suspend", {
    message: "cannot be used in a job: use job.suspend",
    cel: "!has(self.template.spec.suspend) || !self.template.spec.suspend",
    holds: ({ template: { spec } }) => !spec.suspend,
  }),
  inJob("overrides", {
    message: "needs a job without completions: apps with a number have no node yet when they are created",
    cel: "!has(self.job.completions) || !has(self.overrides) || size(self.overrides) == 0",
    holds: ({ job, overrides = [] }) => job?.completions === undefined || overrides.length === 0,
  }),
  inJob("overrides", {
    message: "cannot change when an app of a job ends",
    holds: ({ overrides = [] }) => {
      const found = overrides.flatMap(({ patch }) =>
        jobFields.filter((field) => Object.hasOwn(patch.spec ?? {}, field))
      );
      return found.length === 0 || `cannot change when an app of a job ends: remove ${found[0]}`;
    },
  }),
  {
    at: "spec",
    message: "job cannot be added or removed: create another set",
    cel: "has(self.job) == has(oldSelf.job)",
    holds: () => true,
  },
  {
    at: "spec.job",
    blames: "completions",
    message: "cannot be changed: create another set",
    cel: "has(self.completions) == has(oldSelf.completions) && " +
      "(!has(self.completions) || self.completions == oldSelf.completions)",
    holds: () => true,
  },
  {
    at: "spec",
    blames: "template",
    message: "cannot be changed while the job is not suspended: set job.suspend first, or create another set",
    cel: "!has(self.job) || !has(oldSelf.job) || (has(oldSelf.job.suspend) && oldSelf.job.suspend) || " +
      "self.template == oldSelf.template",
    holds: () => true,
  },
];

/** A rule that concerns only jobs. */
function inJob(
  blames: string,
  { message, cel, holds }: { message: string; cel?: string; holds: (spec: Spec) => boolean | string },
): Rule {
  return {
    at: "spec",
    blames,
    message,
    ...(cel ? { cel: `!has(self.job) || (${cel})` } : {}),
    holds: (spec: Spec) => spec.job === undefined || holds(spec),
  };
}

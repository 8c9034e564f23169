import { annotations } from "../names.ts";
import { matchesSelector } from "../label-selector.ts";
import type { NCAppSetSpec } from "../types.ts";
import { jobRules } from "./job.ts";
import { exactlyOneOf, labelKeys, labelSelectorRules, type Rule } from "./rule.ts";

const hasLabel = "has(self.template.metadata.labels) && ";

/** Rules between the fields of an NCAppSet. Those of its template are the rules of NCApp. */
export const setRules: readonly Rule[] = [
  {
    at: "spec",
    blames: "template.metadata.labels",
    message: "must match spec.selector",
    cel: "!has(self.selector.matchLabels) || self.selector.matchLabels.all(key, " + hasLabel +
      "key in self.template.metadata.labels && self.template.metadata.labels[key] == self.selector.matchLabels[key])",
    holds: ({ selector: { matchLabels }, template }: NCAppSetSpec) =>
      matchesSelector({ matchLabels }, template.metadata.labels),
  },
  {
    at: "spec",
    blames: "template.metadata.labels",
    message: "must match spec.selector",
    cel: "!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(it, " +
      "it.operator in ['In', 'Exists'] ? " + hasLabel + "it.key in self.template.metadata.labels && " +
      "(it.operator == 'Exists' || (has(it.values) && self.template.metadata.labels[it.key] in it.values)) : " +
      "!has(self.template.metadata.labels) || !(it.key in self.template.metadata.labels) || " +
      "(it.operator == 'NotIn' && has(it.values) && !(self.template.metadata.labels[it.key] in it.values)))",
    holds: ({ selector: { matchLabels, matchExpressions }, template: { metadata } }: NCAppSetSpec) =>
      !matchesSelector({ matchLabels }, metadata.labels) ||
      matchesSelector({ matchExpressions }, metadata.labels),
  },
  {
    at: "spec.selector",
    message: "must have matchLabels or matchExpressions: an empty selector would match every app",
    cel: "(has(self.matchLabels) && size(self.matchLabels) > 0) || " +
      "(has(self.matchExpressions) && size(self.matchExpressions) > 0)",
    holds: ({ matchLabels = {}, matchExpressions = [] }: NCAppSetSpec["selector"]) =>
      Object.keys(matchLabels).length + matchExpressions.length > 0,
  },
  {
    at: "spec.selector",
    message: "cannot be changed: create another set",
    cel: "self == oldSelf",
    holds: () => true,
  },
  {
    at: "spec",
    message:
      "replicas cannot be added or removed: create another set to change between a number of apps and " +
      "one app per node",
    cel: "has(self.replicas) == has(oldSelf.replicas)",
    holds: () => true,
  },
  ...jobRules,
  ...labelSelectorRules("spec.selector"),
  {
    at: "spec.template.metadata",
    blames: "annotations",
    message: `must not have ${annotations.mirror}, which marks the mirrors of local apps`,
    cel: `!has(self.annotations) || !('${annotations.mirror}' in self.annotations)`,
    holds: (self: NCAppSetSpec["template"]["metadata"]) =>
      !Object.hasOwn(self.annotations ?? {}, annotations.mirror),
  },
  exactlyOneOf("spec.update.canary", ["count", "nodeSelector"]),
  labelKeys("spec.template.metadata", "labels"),
  labelKeys("spec.update.canary", "nodeSelector"),
  labelKeys("spec.overrides[]", "nodeSelector"),
  {
    at: "spec.overrides[]",
    blames: "patch.spec",
    message: "cannot change where apps run",
    holds: ({ patch }: { patch: { spec?: object } }) => {
      const found = placementFields.find((field) => Object.hasOwn(patch.spec ?? {}, field));
      return found === undefined || `cannot change where apps run: remove ${found}`;
    },
  },
];

/** Fields of a spec that decide where its app runs. An override applies to a node, so it cannot choose another one. */
export const placementFields = [
  "nodeName",
  "schedulerName",
  "nodeSelector",
  "affinity",
  "topologySpreadConstraints",
  "tolerations",
] as const;

import type { NCAppSpec, NodeSelectorRequirement, Toleration } from "../types.ts";
import { labelKeys, labelSelectorRules, type Rule } from "./rule.ts";

const tolerations: Rule[] = [
  {
    at: "spec.tolerations[]",
    blames: "operator",
    message: "must be Exists if key is empty",
    cel: "self.operator == 'Exists' || (has(self.key) && size(self.key) > 0)",
    holds: ({ key = "", operator }: Toleration) => key !== "" || operator === "Exists",
  },
  {
    at: "spec.tolerations[]",
    blames: "value",
    message: "must be empty if operator is Exists",
    cel: "self.operator != 'Exists' || !has(self.value) || size(self.value) == 0",
    holds: ({ operator, value = "" }: Toleration) => operator !== "Exists" || value === "",
  },
  {
    at: "spec.tolerations[]",
    blames: "effect",
    message: "must be NoExecute if tolerationSeconds is set",
    cel: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
    holds: ({ effect, tolerationSeconds }: Toleration) =>
      tolerationSeconds === undefined || effect === "NoExecute",
  },
];

const nodeAffinity = "spec.affinity.nodeAffinity";
const requirementPaths = [
  `${nodeAffinity}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchExpressions[]`,
  `${nodeAffinity}.preferredDuringSchedulingIgnoredDuringExecution[].preference.matchExpressions[]`,
];

const requirements = requirementPaths.flatMap((at): Rule[] => [
  {
    at,
    blames: "values",
    message: "must not be empty if operator is In or NotIn",
    cel: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
    holds: ({ operator, values = [] }: NodeSelectorRequirement) =>
      !["In", "NotIn"].includes(operator) || values.length > 0,
  },
  {
    at,
    blames: "values",
    message: "must be empty if operator is Exists or DoesNotExist",
    cel: "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
    holds: ({ operator, values = [] }: NodeSelectorRequirement) =>
      !["Exists", "DoesNotExist"].includes(operator) || values.length === 0,
  },
  {
    at,
    blames: "values",
    message: "must be one integer if operator is Gt or Lt",
    cel: "!(self.operator in ['Gt', 'Lt']) || " +
      "(has(self.values) && size(self.values) == 1 && self.values[0].matches('^-?[0-9]{1,18}$'))",
    holds: ({ operator, values = [] }: NodeSelectorRequirement) =>
      !["Gt", "Lt"].includes(operator) || (values.length === 1 && /^-?[0-9]{1,18}$/.test(values[0]!)),
  },
]);

const antiAffinity = "spec.affinity.appAntiAffinity";
const selectors = [
  "spec.topologySpreadConstraints[].labelSelector",
  `${antiAffinity}.requiredDuringSchedulingIgnoredDuringExecution[].labelSelector`,
  `${antiAffinity}.preferredDuringSchedulingIgnoredDuringExecution[].appAffinityTerm.labelSelector`,
].flatMap(labelSelectorRules);

export const placementRules: readonly Rule[] = [
  {
    at: "spec",
    blames: "ports",
    message: "must have unique names",
    cel:
      "!has(self.ports) || self.ports.all(a, !has(a.name) || self.ports.exists_one(b, has(b.name) && b.name == a.name))",
    holds: ({ ports = [] }: NCAppSpec) => {
      const names = ports.flatMap(({ name }) => name ?? []);
      return new Set(names).size === names.length;
    },
  },
  labelKeys("spec", "nodeSelector"),
  ...tolerations,
  ...requirements,
  ...selectors,
];

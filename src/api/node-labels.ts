/**
 * Which labels and taints an agent gives to its Node: `--node-labels` and `--register-with-taints`. Pure.
 *
 * The rule is that of NodeRestriction for kubelets, and holds at the registration only: then the admission policy lets an agent
 * choose labels, and later only administrators change them.
 */
import { group, labels, nodeTaint } from "./names.ts";
import { labelValue, maxLabelKeyLength, qualifiedName } from "./schema/schema.ts";

/** What the agent itself writes. The last one keeps load balancers of clouds away: nothing on the node forwards their traffic. */
export const ownNodeLabels = [
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  labels.node,
  labels.excludeBalancers,
] as const;

/** Domains of labels that belong to Kubernetes and to this program. */
export const reservedDomains = ["kubernetes.io", "k8s.io", group] as const;
/** Labels of these domains that nodes may choose; those of whole domains end with a slash. */
export const freeReservedLabels = [
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "node.kubernetes.io/",
  "kubelet.kubernetes.io/",
] as const;

export interface Taint {
  key: string;
  value?: string;
  effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

/** Parses `a=b,example.com/c=d`; throws with the label and what is wrong with it. */
export function parseNodeLabels(text: string): Record<string, string> {
  return Object.fromEntries(
    wordsIn(text).map((word) => {
      const [key = "", ...rest] = word.split("=");
      const value = rest.join("=");
      const problem = rest.length === 0 ? "use KEY=VALUE" : partsProblem(key, value) ?? labelProblem(key);
      if (problem) throw new Error(`${JSON.stringify(word)}: ${problem}`);
      return [key, value];
    }),
  );
}

/** Parses `key=value:NoSchedule,other:NoExecute`; throws with the taint and what is wrong with it. */
export function parseTaints(text: string): Taint[] {
  return wordsIn(text).map((word) => {
    const [, key = "", value, effect] =
      /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(word) ?? [];
    const problem = effect === undefined
      ? "use KEY=VALUE:EFFECT with the effect NoSchedule, PreferNoSchedule or NoExecute"
      : key === nodeTaint.key
      ? "the agent sets this taint itself"
      : partsProblem(key, value ?? "");
    if (problem) throw new Error(`${JSON.stringify(word)}: ${problem}`);
    return { key, ...(value ? { value } : {}), effect: effect as Taint["effect"] };
  });
}

function wordsIn(text: string): string[] {
  return text.split(",").map((word) => word.trim()).filter(Boolean);
}

function partsProblem(key: string, value: string): string | undefined {
  if (key.length > maxLabelKeyLength || !new RegExp(qualifiedName).test(key)) {
    return "the key must be a qualified name such as zone or example.com/zone";
  }
  if (value.length > 63 || !new RegExp(labelValue).test(value)) {
    return "the value must be letters, digits, '-', '_' and '.', at most 63";
  }
  return undefined;
}

function labelProblem(key: string): string | undefined {
  if (ownNodeLabels.some((own) => own === key)) return "the agent sets this label itself";
  const [domain] = key.includes("/") ? key.split("/") : [""];
  const isReserved = reservedDomains.some((reserved) =>
    domain === reserved || domain!.endsWith(`.${reserved}`)
  );
  const isFree = freeReservedLabels.some((free) => free.endsWith("/") ? key.startsWith(free) : key === free);
  return isReserved && !isFree
    ? `a node may not choose labels of ${domain}: use kubectl label, or one of ${
      freeReservedLabels.join(", ")
    }`
    : undefined;
}

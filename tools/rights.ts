/** Writes docs/rights.md: every right of every identity with its reason, from the roles and policies that are installed. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bindWithPolicies, buildPolicies, explainedRBAC } from "../src/api/install/install.ts";
import { checkout } from "./checkout.ts";

interface Subject {
  kind: string;
  name: string;
  namespace?: string;
}

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  nonResourceURLs?: string[];
  resourceNames?: string[];
  verbs: string[];
  why: string;
}

interface Kubernetes {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: Rule[];
  roleRef?: { kind: string; name: string };
  subjects?: Subject[];
  spec?: {
    matchConstraints?: {
      resourceRules: { apiGroups: string[]; resources: string[]; operations: string[] }[];
    };
  };
}

const file = join(checkout, "docs/rights.md");
const header = ["resource", "verbs", "only", "namespace", "for", "narrowed by"];
const operations: Record<string, string> = {
  create: "CREATE",
  update: "UPDATE",
  patch: "UPDATE",
  delete: "DELETE",
};

/** Updates the page, or, with `check`, reports that it is outdated. Returns the exit code. */
export async function makeRights({ check }: { check: boolean }): Promise<number> {
  const text = renderRights();
  const found = await readFile(file, "utf8").catch(() => "");
  if (found === text) console.log("docs/rights.md was up to date");
  else if (check) console.log("docs/rights.md is not up to date; run: npm run generate");
  else await writeFile(file, text);
  return check && found !== text ? 1 : 0;
}

/** A rule of a role that is bound to these subjects, in one namespace or in all. */
export interface GivenRight {
  role: string;
  subjects: Subject[];
  namespace?: string;
  rule: Rule;
}

/** Returns every right that the manifests give, or offer to administrators. Without policies, less is bound. */
export function listRights({ policies = true } = {}): GivenRight[] {
  const installed = explainedRBAC() as Kubernetes[];
  const bindings = [...installed, ...policies ? bindWithPolicies() as Kubernetes[] : []];
  return installed.flatMap(({ kind, metadata: { name, namespace }, rules = [] }) => {
    const isOfRole = ({ roleRef, metadata }: Kubernetes) =>
      roleRef?.kind === kind && roleRef.name === name && metadata.namespace === namespace;
    const subjects = bindings.filter(isOfRole).flatMap(({ subjects = [] }) => subjects);
    return rules.map((rule) => ({ role: name, subjects, namespace, rule }));
  });
}

export function renderRights(): string {
  const policies = (buildPolicies() as Kubernetes[]).filter(({ kind }) =>
    kind === "ValidatingAdmissionPolicy"
  );
  const rows = new Map<string, string[][]>();
  for (const { role, subjects, namespace, rule } of listRights()) {
    const who = subjects.map(describeSubject).join(", ");
    const title = who || `Role \`${role}\`, which administrators bind`;
    const isAgent = /nckubelet:agents|bootstrappers/.test(who) || role === "nckubelet-mirror";
    const prefix = isAgent ? "nckubelet-agent-" : who ? "nckubelet-controller-" : "none";
    rows.set(title, [...rows.get(title) ?? [], rowOf(rule, namespace, policiesOf(rule, prefix, policies))]);
  }
  return [
    "# Rights",
    "<!-- Made by tools/rights.ts from the roles and policies of src/api/install: npm run generate. Do not edit. -->",
    "Every right that the manifests give, with what it is for, and the admission policies that narrow it on API servers 1.31 and later. " +
    "An empty namespace stands for all. A test asks the API server for the rights of each identity (`kubectl auth can-i --list`): they are " +
    "these. An agent also reads [the Secrets of its apps](security.md#secrets-by-need); [security](security.md) says what is left to who steals a credential.",
    ...[...rows].flatMap(([who, lines]) => [`## ${who}`, table([header, ...lines])]),
  ].join("\n\n") + "\n";
}

function describeSubject(
  { kind, name, namespace }: { kind: string; name: string; namespace?: string },
): string {
  return kind === "Group" ? `group \`${name}\`` : `account \`${namespace}/${name}\``;
}

function rowOf(rule: Rule, namespace: string | undefined, policies: string[]): string[] {
  const { apiGroups = [], resources = [], nonResourceURLs = [], resourceNames = [], verbs, why } = rule;
  const what = [
    ...nonResourceURLs,
    ...resources.map((name) => apiGroups[0] ? `${name} (${apiGroups[0]})` : name),
  ];
  return [what, verbs, resourceNames, namespace ? [namespace] : [], [why], policies].map((list) =>
    list.join(", ")
  );
}

/** As wide as deno fmt makes it. */
function table([head = [], ...rows]: string[][]): string {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((cells) => cells[at]!.length)));
  const line = (cells: string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** Returns the policies that look at one of these writes of an agent or of a controller. */
function policiesOf(
  { apiGroups = [], resources = [], verbs }: Rule,
  prefix: string,
  all: Kubernetes[],
): string[] {
  const wanted = verbs.flatMap((verb) => operations[verb] ?? []);
  return all.filter(({ metadata, spec }) =>
    metadata.name.startsWith(prefix) &&
    spec?.matchConstraints?.resourceRules.some((rule) =>
      rule.apiGroups.some((group) => apiGroups.includes(group)) &&
      rule.resources.some((name) => resources.includes(name)) &&
      rule.operations.some((operation) => wanted.includes(operation))
    )
  ).map(({ metadata }) => metadata.name);
}

/**
 * What an administrator installs once per cluster: CRD, RBAC, admission policies and the controllers. It comes as the files
 * of `crd/`, which `npm run generate` writes, and as one text from `nckubelet manifests`.
 */
import { dump } from "js-yaml";
import { buildAdmissionPolicies } from "./admission-policy.ts";
import { buildControllerPolicies } from "./controller-policy.ts";
import { buildControllerObjects } from "./controller-objects.ts";
import { buildCRD, buildPolicyCRD, buildSetCRD } from "./crd.ts";
import { buildLimitRangePolicy } from "./limit-range-policy.ts";
import { bindWithPolicies, buildRBAC } from "./rbac.ts";
import { buildTenancyPolicies } from "./tenancy-policy.ts";

export { buildCRD, buildPolicyCRD, buildSetCRD } from "./crd.ts";
export { type CRDGaps, findCRDGaps } from "./crd-gaps.ts";
export { buildControllerObjects } from "./controller-objects.ts";
export { bindWithPolicies, buildRBAC, explainedRBAC } from "./rbac.ts";
export { buildTenancyPolicies } from "./tenancy-policy.ts";

/** One file of `crd/`. */
export type InstallFile = { path: string; about: string; documents: object[] };

/** The first minor version of Kubernetes 1 that accepts `crd/` itself; `crd/legacy` is for older servers. */
export const currentSince = 31;

/**
 * Returns the files, relative to `crd/`. `kubectl apply -f crd/` applies those in the folder itself, which are all that a
 * current server needs, and ignores the folders below it.
 */
export function installFiles(): InstallFile[] {
  const roles = {
    about: "Permissions of agents and controllers.\n" +
      "The controller identities lets agents read the Secrets and ConfigMaps of their apps, with the role nckubelet-granter, which\n" +
      "admission-policy.yaml binds. Where there is no such policy, an administrator does that by hand (docs/security.md).\n" +
      "Agents show their local apps in the API server (mirrors) only in namespaces with nckubelet-mirror. Without the\n" +
      "admission policy, an agent with that role can run apps of such a namespace on every other node:\n" +
      "  kubectl -n NAMESPACE create rolebinding nckubelet-mirror --clusterrole=nckubelet-mirror \\\n" +
      "    --group=nckubelet:agents --group=system:serviceaccounts:nckubelet-agents\n" +
      "Agents show their apps as Pods with the role nckubelet-pods, which admission-policy.yaml binds. Do not bind it where there\n" +
      "is no such policy unless you trust every node with the whole cluster (docs/security.md):\n" +
      "  kubectl create clusterrolebinding nckubelet-pods --clusterrole=nckubelet-pods \\\n" +
      "    --group=nckubelet:agents --group=system:serviceaccounts:nckubelet-agents\n" +
      "Put the user of an agent --with-controller into the group nckubelet:schedulers, not into a group of agents: the\n" +
      "admission policy restricts those to their own node. Bind the nckubelet-agent roles to that user by name\n" +
      "(docs/scheduler.md).",
    documents: buildRBAC(),
  };
  return [
    {
      path: "ncapp.yaml",
      about:
        `The NCApp resource, for API servers 1.${currentSince} and later: the server checks rules between fields,\n` +
        "and agents watch only their own apps.",
      documents: [buildCRD()],
    },
    {
      path: "ncappset.yaml",
      about: `The NCAppSet resource, for API servers 1.${currentSince} and later.`,
      documents: [buildSetCRD()],
    },
    { path: "rbac.yaml", ...roles },
    {
      path: "admission-policy.yaml",
      about:
        "Restricts each agent to its own node, the controllers to what they write, and caps to the LimitRanges of their\n" +
        "namespace. With that, agents may show their apps as Pods.",
      documents: buildPolicies(),
    },
    {
      path: "legacy/ncapp.yaml",
      about:
        `The NCApp resource, for API servers before 1.${currentSince}. Each agent watches every NCApp of the cluster.`,
      documents: [buildCRD({ legacy: true })],
    },
    {
      path: "legacy/ncappset.yaml",
      about:
        `The NCAppSet resource, for API servers before 1.${currentSince}: they do not check rules between fields.`,
      documents: [buildSetCRD({ legacy: true })],
    },
    { path: "legacy/rbac.yaml", ...roles },
    {
      path: "controller/deployment.yaml",
      about:
        "The controllers as Deployments, with a Service for their metrics. Set `image` to the image of the release, or run:\n" +
        "  nckubelet manifests --image IMAGE | kubectl apply -f -",
      documents: buildControllerObjects(),
    },
    {
      path: "tenancy/ncapppolicy.yaml",
      about:
        `The NCAppPolicy resource, for API servers 1.${currentSince} and later: what the apps of a namespace may be.`,
      documents: [buildPolicyCRD()],
    },
    {
      path: "tenancy/policy.yaml",
      about:
        "Holds the NCApps and NCAppSets of each namespace to the NCAppPolicies there; without one, everything is allowed\n" +
        "(docs/security.md). API servers find a new kind within 30 s, and until then refuse every NCApp.",
      documents: buildTenancyPolicies(),
    },
  ];
}

export function renderInstallFile({ about, documents }: InstallFile): string {
  const head = `${about}\nGenerated by npm run generate; do not edit.`.split("\n").map((line) =>
    `# ${line}\n`
  ).join("");
  return head + documents.map((document) => toYAML(labelled(document))).join("---\n");
}

/** Returns everything that the server accepts, as one text. `minor` is its version (1.MINOR); unknown counts as current. */
export function renderInstallManifests(
  { minor = currentSince, image, tenancy = false, pods }: {
    minor?: number;
    image?: string;
    tenancy?: boolean;
    pods?: PodsChoice;
  } = {},
): string {
  const legacy = minor < currentSince;
  const documents = [
    buildCRD({ legacy }),
    buildSetCRD({ legacy }),
    ...(tenancy && !legacy ? [buildPolicyCRD()] : []),
    ...buildRBAC(),
    ...(legacy ? [] : buildPolicies(pods)),
    ...(tenancy && !legacy ? buildTenancyPolicies() : []),
    ...(image ? buildControllerObjects({ image, legacy }) : []),
  ];
  return documents.map((document) => toYAML(labelled(document))).join("---\n");
}

/** Returns the object with the labels of everything that is installed; its own win. */
export function labelled(document: object): object {
  const { metadata = {} } = document as { metadata?: { name?: string; labels?: Record<string, string> } };
  const { name, labels, ...rest } = metadata;
  const own = name === "nckubelet-controller" ? name : "nckubelet";
  const common = { "app.kubernetes.io/name": own, "app.kubernetes.io/part-of": "nckubelet" };
  return { ...document, metadata: { name, ...rest, labels: { ...common, ...labels } } };
}

/** In which namespaces agents may show apps as Pods. */
export const podsChoices = ["auto", "labelled", "never"] as const;
export type PodsChoice = typeof podsChoices[number];

function nameOf(object: object): string | undefined {
  return (object as { metadata?: { name?: string } }).metadata?.name;
}

/** What restricts agents, controllers and caps, and lets agents show Pods then. */
export function buildPolicies(pods: PodsChoice = "auto"): object[] {
  return [
    ...buildAdmissionPolicies(pods === "never" ? "labelled" : pods),
    ...buildControllerPolicies(),
    ...buildLimitRangePolicy(),
    ...bindWithPolicies().filter((binding) => pods !== "never" || nameOf(binding) !== "nckubelet-pods"),
  ];
}

export function toYAML(document: object): string {
  return dump(document, { noRefs: true, lineWidth: -1, quoteStyle: "double" });
}

/**
 * The Helm chart of the cluster's side, from the objects that `crd/` is made of: their text, with expressions where values decide.
 *
 * The namespace is fixed: admission policies name the account of the controllers, and its Leases are there.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemNamespace } from "../../src/api/names.ts";
import {
  buildControllerObjects,
  buildCRD,
  buildPolicies,
  buildPolicyCRD,
  buildRBAC,
  buildSetCRD,
  buildTenancyPolicies,
  currentSince,
  labelled,
  podsChoices,
  toYAML,
} from "../../src/api/install/install.ts";
import { checkout } from "../checkout.ts";
import { chartValues, valuesSchema } from "./chart-values.ts";

type Kubernetes = {
  kind: string;
  metadata: { name: string; labels: Record<string, string>; annotations?: object };
};

/** Returns the files of the chart by their paths in it. */
export async function buildChart({ version }: { version: string }): Promise<Map<string, string>> {
  const keep = [keepOnUninstall];
  const templates: Record<string, string> = {
    "_helpers.tpl": helpers,
    "checks.yaml": checks,
    "crds.yaml": when(".Values.crds.install", render([buildCRD(), buildSetCRD()], keep)),
    "tenancy-crd.yaml": when(
      "and .Values.crds.install .Values.tenancy.install",
      render([buildPolicyCRD()], keep),
    ),
    // Helm creates the namespace of a release itself.
    "rbac.yaml": render(buildRBAC().filter((object) => !isNamespace(object, systemNamespace)), [
      aggregate,
      keepNamespace,
    ]),
    "policies.yaml": when(".Values.policies.install", podPolicies()),
    "tenancy.yaml": when(".Values.tenancy.install", render(buildTenancyPolicies())),
    "controller.yaml": render(controllerObjects()),
    "monitoring.yaml": monitoring,
  };
  return new Map([
    ["Chart.yaml", toYAML(chartFile(version))],
    ["values.yaml", chartValues],
    ["values.schema.json", `${JSON.stringify(valuesSchema, null, 2)}\n`],
    ["README.md", "See docs/install.md of NC-Kubelet.\n"],
    ["files/rules.yaml", await readFile(join(checkout, "docs/monitoring/rules.yaml"), "utf8")],
    ...Object.entries(templates).map(([name, text]): [string, string] => [`templates/${name}`, text]),
  ]);
}

/** Which of the three texts, the value says. */
function podPolicies(): string {
  const texts = podsChoices.map((choice, index) =>
    `{{- ${index === 0 ? "if" : "else if"} eq .Values.policies.pods "${choice}" }}\n${
      render(buildPolicies(choice))
    }`
  );
  return `${texts.join("")}{{- end }}\n`;
}

function chartFile(version: string): object {
  return {
    apiVersion: "v2",
    name: "nckubelet",
    description:
      "Runs non-containerized applications on bare-metal and edge nodes: resources, permissions, policies and controllers.",
    type: "application",
    version,
    appVersion: version,
    kubeVersion: `>=1.${currentSince}.0-0`,
  };
}

/** An expression in the place of a value, and lines that a value may add. Both are replaced in the text. */
const expression = (text: string) => `HELM<${text}>`;
const optional = (value: string) => `HELM?<${value}>`;

function render(documents: object[], changes: ((object: Kubernetes) => object)[] = []): string {
  return documents.map((document) => {
    const marked = labelled(document) as Kubernetes;
    const labels = { ...marked.metadata.labels, "HELM-LABELS": "" };
    const object = { ...marked, metadata: { ...marked.metadata, labels } } as Kubernetes;
    const changed = changes.reduce((result, change) => change(result) as Kubernetes, object);
    return fill(toYAML(changed));
  }).join("---\n");
}

function fill(text: string): string {
  return text
    // What Kubernetes itself writes in braces is no expression of Helm.
    .replaceAll("{{", '{{ "{{" }}')
    .replaceAll(
      /^( *)HELM-LABELS: ""$/gm,
      (_, indent) => `${indent}{{- include "nckubelet.labels" . | nindent ${indent.length} }}`,
    )
    .replaceAll(
      /^( *)([\w.\/-]+): "?HELM\?<(.*)>"?$/gm,
      (_, indent, key, value) =>
        `${indent}{{- with ${value} }}\n${indent}${key}:\n${indent}  {{- toYaml . | nindent ${
          indent.length + 2
        } }}\n${indent}{{- end }}`,
    )
    .replaceAll(/"?HELM<(.*?)>"?/g, (_, expression) => `{{ ${expression} }}`);
}

function when(condition: string, text: string): string {
  return `{{- if ${condition} }}\n${text}{{- end }}\n`;
}

function keepOnUninstall(object: Kubernetes): object {
  return { ...object, metadata: { ...object.metadata, annotations: { "helm.sh/resource-policy": "keep" } } };
}

/** With the namespace of the agents, their accounts would go, and every node would be shut out. */
function keepNamespace(object: Kubernetes): object {
  return object.kind === "Namespace" ? keepOnUninstall(object) : object;
}

/** The roles for users join the cluster's own roles as the values say. */
function aggregate(object: Kubernetes): object {
  const to: Record<string, string[]> = { "nckubelet-view": ["view"], "nckubelet-edit": ["edit", "admin"] };
  const targets = object.kind === "ClusterRole" ? to[object.metadata.name] ?? [] : [];
  const labels = Object.fromEntries(targets.map((role) => [
    `rbac.authorization.k8s.io/aggregate-to-${role}`,
    expression(`.Values.rbac.aggregateTo${role[0]!.toUpperCase()}${role.slice(1)} | quote`),
  ]));
  return { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...labels } } };
}

function isNamespace(object: object, name: string): boolean {
  const { kind, metadata } = object as Kubernetes;
  return kind === "Namespace" && metadata.name === name;
}

/** The controllers, as the values say. */
function controllerObjects(): object[] {
  const image = expression('include "nckubelet.image" .');
  // deno-lint-ignore no-explicit-any
  const objects: any[] = buildControllerObjects({ image });
  for (const object of objects) if (object.kind === "Deployment") fillIn(object);
  return objects;
}

// deno-lint-ignore no-explicit-any
function fillIn({ metadata, spec }: any): void {
  const isController = metadata.name === "nckubelet-controller";
  spec.replicas = expression(".Values.replicas");
  const pod = spec.template.spec;
  const [container] = pod.containers;
  spec.template.metadata.annotations = optional(".Values.podAnnotations");
  pod.priorityClassName = expression(".Values.priorityClassName | quote");
  pod.imagePullSecrets = optional(".Values.imagePullSecrets");
  pod.nodeSelector = optional(".Values.nodeSelector");
  pod.tolerations = optional(".Values.tolerations");
  if (isController) pod.volumes = optional('include "nckubelet.volumes" . | fromYamlArray');
  container.imagePullPolicy = expression(".Values.image.pullPolicy");
  container.args = optional(
    `include "nckubelet.${isController ? "args" : "identities-args"}" . | fromYamlArray`,
  );
  container.resources = optional(".Values.resources");
  if (isController) container.volumeMounts = optional('include "nckubelet.volumeMounts" . | fromYamlArray');
}

const helpers = `{{- define "nckubelet.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end }}

{{- define "nckubelet.image" -}}
{{- if .Values.image.digest -}}
{{ printf "%s@%s" .Values.image.repository .Values.image.digest | quote }}
{{- else -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
{{- end }}
{{- end }}

{{- define "nckubelet.args" -}}
- controller
- --listen=:10269
- --health-listen=:10270
- --policy={{ .Values.placement }}
{{- if .Values.metrics.tlsSecret }}
- --tls-cert-file=/etc/nckubelet/tls/tls.crt
- --tls-private-key-file=/etc/nckubelet/tls/tls.key
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- define "nckubelet.identities-args" -}}
- controller
- --only=identities
- --listen=
- --health-listen=:10270
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- define "nckubelet.volumes" -}}
{{- if .Values.metrics.tlsSecret }}
- name: tls
  secret:
    secretName: {{ .Values.metrics.tlsSecret | quote }}
{{- else }}
[]
{{- end }}
{{- end }}

{{- define "nckubelet.volumeMounts" -}}
{{- if .Values.metrics.tlsSecret }}
- name: tls
  mountPath: /etc/nckubelet/tls
  readOnly: true
{{- else }}
[]
{{- end }}
{{- end }}
`;

const checks = `{{- if ne .Release.Namespace "${systemNamespace}" }}
{{- fail (printf "install into the namespace ${systemNamespace}, not %q: helm install -n ${systemNamespace} --create-namespace" .Release.Namespace) }}
{{- end }}
{{- if and (or .Values.rbac.aggregateToEdit .Values.rbac.aggregateToAdmin) (not .Values.tenancy.install) }}
{{- fail "rbac.aggregateToEdit and rbac.aggregateToAdmin make every editor of a namespace root on all nodes: set tenancy.install too, and write an NCAppPolicy for each namespace" }}
{{- end }}
`;

const monitored = `  labels:
    app.kubernetes.io/name: "nckubelet-controller"
    app.kubernetes.io/part-of: "nckubelet"
    {{- include "nckubelet.labels" . | nindent 4 }}
    {{- with .Values.metrics.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
`;

const monitoring = `{{- if .Values.metrics.serviceMonitor }}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: nckubelet-controller
  namespace: ${systemNamespace}
${monitored}spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: nckubelet-controller
  endpoints:
    - port: metrics
      scheme: https
      # The metrics of sets have a label "namespace" of their own.
      honorLabels: true
      bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
      tlsConfig:
        {{- if .Values.metrics.tlsSecret }}
        serverName: nckubelet-controller.${systemNamespace}.svc
        ca:
          secret:
            name: {{ .Values.metrics.tlsSecret | quote }}
            key: ca.crt
        {{- else }}
        insecureSkipVerify: true
        {{- end }}
{{- end }}
{{- if .Values.metrics.prometheusRule }}
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: nckubelet
  namespace: ${systemNamespace}
${monitored}spec:
  {{- .Files.Get "files/rules.yaml" | fromYaml | toYaml | nindent 2 }}
{{- end }}
{{- range .Values.metrics.readers }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ printf "nckubelet-metrics-reader-%s-%s" .namespace .name | quote }}
  labels:
    app.kubernetes.io/name: "nckubelet-controller"
    app.kubernetes.io/part-of: "nckubelet"
    {{- include "nckubelet.labels" $ | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: nckubelet-metrics-reader
subjects:
  - kind: ServiceAccount
    namespace: {{ .namespace | quote }}
    name: {{ .name | quote }}
{{- end }}
`;

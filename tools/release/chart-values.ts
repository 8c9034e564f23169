/** The values of the chart, with their defaults, and the schema that Helm checks them with. */
import { podsChoices } from "../../src/api/install/install.ts";

export const chartValues = `# The values of the chart; values.schema.json checks them.

image:
  # Where you pushed nckubelet-image.tar of the release.
  repository: nckubelet
  # Default: the version of the chart.
  tag: ""
  # Such as sha256:…; wins over the tag.
  digest: ""
  pullPolicy: IfNotPresent
imagePullSecrets: []

# Of each Deployment: the scheduler with the sets, and identities. One of them leads.
replicas: 2
# How apps are placed: spread over all nodes, or binpack on as few as possible.
placement: spread
# More flags of "nckubelet controller".
extraArgs: []

resources:
  requests: { cpu: 50m, memory: 96Mi }
  limits: { memory: 512Mi }
podAnnotations: {}
nodeSelector: {}
tolerations:
  - { key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule }
  - { key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule }
priorityClassName: ""

crds:
  # Install and upgrade the CRDs with the chart. They stay when it is uninstalled, and apps with them.
  install: true
policies:
  # Restrict agents to their node and controllers to what they write. Without them a stolen node can take over others.
  install: true
  # Where agents may show apps as Pods: auto (where the namespace has no label app.example.com/pods: "false"), labelled (only where
  # it has app.example.com/pods: "true") or never. Not in kube-*.
  pods: auto
tenancy:
  # NCAppPolicy, and the policies that hold namespaces to it. For up to 30 s after the first installation NCApps are refused.
  install: false

rbac:
  # Who may view a namespace sees its NCApps, with the values of variables that are written in them.
  aggregateToView: true
  # Who may edit a namespace writes NCApps: root on all nodes, as far as no NCAppPolicy restricts the namespace.
  aggregateToEdit: false
  aggregateToAdmin: false

metrics:
  # Objects of Prometheus Operator.
  serviceMonitor: false
  prometheusRule: false
  # Labels by which it selects them.
  labels: {}
  # Service accounts that scrape: [{ namespace: monitoring, name: prometheus }].
  readers: []
  # A Secret with tls.crt, tls.key and ca.crt for nckubelet-controller.nckubelet.svc. Without it the certificate is self-signed.
  tlsSecret: ""
`;

const text = { type: "string" };
const flag = { type: "boolean" };
const anything = { type: "object" };
const name = { type: "string", pattern: "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" };

function object(properties: Record<string, object>, required: string[] = []): object {
  return {
    type: "object",
    additionalProperties: false,
    properties,
    ...(required.length > 0 ? { required } : {}),
  };
}

export const valuesSchema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  ...object({
    // Helm adds it.
    global: anything,
    image: object({
      repository: { type: "string", minLength: 1 },
      tag: text,
      digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
      pullPolicy: { enum: ["Always", "IfNotPresent", "Never"] },
    }),
    imagePullSecrets: { type: "array", items: object({ name }, ["name"]) },
    replicas: { type: "integer", minimum: 0, maximum: 10 },
    placement: { enum: ["spread", "binpack"] },
    extraArgs: { type: "array", items: { type: "string", pattern: "^--" } },
    resources: anything,
    podAnnotations: anything,
    nodeSelector: anything,
    tolerations: { type: "array", items: anything },
    priorityClassName: text,
    crds: object({ install: flag }),
    policies: object({ install: flag, pods: { enum: podsChoices } }),
    tenancy: object({ install: flag }),
    rbac: object({ aggregateToView: flag, aggregateToEdit: flag, aggregateToAdmin: flag }),
    metrics: object({
      serviceMonitor: flag,
      prometheusRule: flag,
      labels: anything,
      readers: { type: "array", items: object({ namespace: name, name }, ["namespace", "name"]) },
      tlsSecret: text,
    }),
  }),
};

/** Specs that together use every field of the schemas: the examples of docs/reference.md. Each is valid. */
import type { NCAppSetSpec, NCAppSpec } from "../../src/api/types.ts";

export const exampleSpecs: readonly NCAppSpec[] = [
  {
    shellFile: "/opt/web/start.sh",
    shellFileSHA256: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
    args: ["--port", "8080"],
    env: [
      { name: "MODE", value: "production" },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "web", key: "password", optional: false } } },
      { name: "REGION", valueFrom: { configMapKeyRef: { name: "site", key: "region", optional: true } } },
      { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
    ],
    envFile: "-/etc/default/web",
    workingDir: "/srv/web",
    runAsUser: "www-data",
    runAsGroup: "www-data",
    cpuPCT: "12.5",
    memPCT: "10",
    pidsMax: 512,
    oomPolicy: "Process",
    restartPolicy: "OnFailure",
    backoffSeconds: 5,
    maxBackoffSeconds: 120,
    terminationGracePeriodSeconds: 60,
    stopFile: "/opt/web/stop.sh",
    stopSignal: "SIGQUIT",
    stopTarget: "Main",
    update: { minReadySeconds: 30, progressDeadlineSeconds: 300, onFailure: "Rollback" },
    reloadSignal: "SIGHUP",
    livenessProbe: {
      exec: { command: ["/opt/web/check.sh", "--fast"] },
      initialDelaySeconds: 10,
      periodSeconds: 30,
      timeoutSeconds: 5,
      successThreshold: 1,
      failureThreshold: 3,
    },
    readinessProbe: {
      httpGet: {
        path: "/ready",
        port: "http",
        host: "127.0.0.1",
        scheme: "HTTP",
        httpHeaders: [{ name: "Accept", value: "text/plain" }],
      },
      periodSeconds: 5,
      successThreshold: 2,
    },
    startupProbe: {
      tcpSocket: { port: 8080, host: "127.0.0.1" },
      periodSeconds: 2,
      failureThreshold: 30,
    },
    suspend: true,
    allowExec: true,
    nodeName: "edge-7",
    schedulerName: "nc-scheduler",
    nodeSelector: { "kubernetes.io/arch": "arm64" },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{
            matchExpressions: [{ key: "zone", operator: "In", values: ["a", "b"] }],
            matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["edge-1"] }],
          }],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [{
          weight: 10,
          preference: { matchExpressions: [{ key: "disk", operator: "Exists" }] },
        }],
      },
      appAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{
          topologyKey: "kubernetes.io/hostname",
          labelSelector: { matchLabels: { app: "db" } },
        }],
        preferredDuringSchedulingIgnoredDuringExecution: [{
          weight: 50,
          appAffinityTerm: {
            topologyKey: "topology.kubernetes.io/zone",
            labelSelector: { matchExpressions: [{ key: "app", operator: "In", values: ["web"] }] },
          },
        }],
      },
    },
    topologySpreadConstraints: [{
      maxSkew: 1,
      topologyKey: "topology.kubernetes.io/zone",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { app: "web" } },
    }],
    tolerations: [{
      key: "site",
      operator: "Equal",
      value: "remote",
      effect: "NoExecute",
      tolerationSeconds: 600,
    }],
    priorityClassName: "important",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  },
  {
    schedule: "30 2 * * *",
    timeZone: "Europe/Berlin",
    concurrencyPolicy: "Replace",
    activeDeadlineSeconds: 3600,
    reloadCommand: ["/opt/web/reload.sh", "--quiet"],
    successfulRunsHistoryLimit: 3,
    failedRunsHistoryLimit: 5,
  },
];

const exampleSetSpec: NCAppSetSpec = {
  replicas: 3,
  selector: {
    matchLabels: { app: "web" },
    matchExpressions: [{ key: "tier", operator: "In", values: ["edge", "core"] }],
  },
  template: {
    metadata: {
      labels: { app: "web", tier: "edge" },
      annotations: { "app.example.com/log-max-size": "20Mi" },
    },
    spec: { shellFile: "/opt/web/start.sh", cpuPCT: "20" },
  },
  minReadySeconds: 30,
  progressDeadlineSeconds: 300,
  revisionHistoryLimit: 5,
  paused: true,
  update: {
    type: "RollingUpdate",
    maxUnavailable: "10%",
    partition: 5,
    canary: { count: 1, autoPromote: true },
    maxFailed: 2,
    onFailure: "Rollback",
  },
  overrides: [{ nodeSelector: { zone: "lab" }, patch: { spec: { cpuPCT: "50" } } }],
};

export const exampleSetSpecs: readonly NCAppSetSpec[] = [
  exampleSetSpec,
  { ...exampleSetSpec, update: { canary: { nodeSelector: { stage: "lab" } } } },
  {
    job: {
      completions: 10,
      parallelism: 3,
      backoffLimit: 6,
      backoffLimitPerIndex: 1,
      activeDeadlineSeconds: 3600,
      ttlSecondsAfterFinished: 86_400,
      suspend: true,
    },
    selector: { matchLabels: { app: "migrate" } },
    template: {
      metadata: { labels: { app: "migrate" } },
      spec: { shellFile: "/opt/migrate.sh", restartPolicy: "Never" },
    },
  },
];

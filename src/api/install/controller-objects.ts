import { controllerAccountName, identitiesAccountName, systemNamespace } from "../names.ts";

/** The ports of the controllers: health for anyone, metrics with TLS and a token. */
const ports = { health: 10_270, metrics: 10_269 };
const name = "nckubelet-controller";

interface Program {
  name: string;
  account: string;
  args: string[];
  ports: Partial<typeof ports>;
}

/** What approves certificates has an account of its own: with those of the others one cannot become any user. It shows no metrics. */
const programs: Program[] = [
  {
    name,
    account: controllerAccountName,
    args: [`--listen=:${ports.metrics}`],
    ports,
  },
  {
    name: identitiesAccountName,
    account: identitiesAccountName,
    args: ["--only=identities", "--listen="],
    ports: { health: ports.health },
  },
];

const labelsOf = (name: string) => ({ "app.kubernetes.io/name": name });

/** Returns the Deployments of the controllers, the Service of their metrics, and what keeps one replica during a drain. */
export function buildControllerObjects(
  { image = "nckubelet:latest", legacy = false }: { image?: string; legacy?: boolean } = {},
): object[] {
  return [
    ...programs.map((program) => buildDeployment(program, image)),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: systemNamespace },
      spec: {
        // Each replica has figures of its own.
        clusterIP: "None",
        selector: labelsOf(name),
        ports: [{ name: "metrics", port: ports.metrics, targetPort: "metrics", protocol: "TCP" }],
      },
    },
    // API servers before 1.21 have no such version.
    ...(legacy ? [] : programs.map(({ name }) => ({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name, namespace: systemNamespace },
      spec: { maxUnavailable: 1, selector: { matchLabels: labelsOf(name) } },
    }))),
  ];
}

/**
 * Two replicas, one of them the leader, with minimal privileges.
 *
 * A replica that hangs loses the Lease to the other, and its liveness probe restarts it. An unreachable API server only
 * makes it unready: a restart would not help.
 */
function buildDeployment({ name, account, args, ports }: Program, image: string): object {
  const labels = labelsOf(name);
  const probe = (path: string) => ({
    httpGet: { path, port: "health" },
    periodSeconds: 10,
    timeoutSeconds: 5,
  });
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: systemNamespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, "app.kubernetes.io/part-of": "nckubelet" } },
        spec: {
          serviceAccountName: account,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            runAsGroup: 65_532,
            seccompProfile: { type: "RuntimeDefault" },
          },
          affinity: {
            podAntiAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [{
                weight: 100,
                podAffinityTerm: {
                  labelSelector: { matchLabels: labels },
                  topologyKey: "kubernetes.io/hostname",
                },
              }],
            },
          },
          tolerations: ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"].map((
            key,
          ) => ({
            key,
            operator: "Exists",
            effect: "NoSchedule",
          })),
          containers: [{
            name: "controller",
            image,
            command: ["nckubelet"],
            args: ["controller", ...args, `--health-listen=:${ports.health}`],
            ports: Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort })),
            livenessProbe: { ...probe("/livez"), failureThreshold: 3 },
            readinessProbe: probe("/readyz"),
            resources: { requests: { cpu: "50m", memory: "96Mi" }, limits: { memory: "512Mi" } },
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] },
            },
          }],
        },
      },
    },
  };
}

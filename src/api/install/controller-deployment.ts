import { controllerAccountName, systemNamespace } from "../names.ts";

/**
 * Returns the Deployment of the controllers: two replicas, one of them the leader, with minimal privileges.
 *
 * A replica that hangs loses the Lease to the other, and its liveness probe restarts it. An unreachable API server only
 * makes it unready: a restart would not help.
 */
export function buildControllerDeployment({ image = "nckubelet:latest" }: { image?: string } = {}): object {
  const port = 10_270;
  const probe = (path: string) => ({
    httpGet: { path, port: "health" },
    periodSeconds: 10,
    timeoutSeconds: 5,
  });
  const labels = { "app.kubernetes.io/name": "nckubelet-controller" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "nckubelet-controller", namespace: systemNamespace, labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: controllerAccountName,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
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
            args: ["controller", `--health-listen=:${port}`],
            ports: [{ name: "health", containerPort: port }],
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

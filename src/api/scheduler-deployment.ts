import { systemNamespace } from "./names.ts";

/**
 * The Deployment of the scheduler: two replicas of which one leads, as little privilege as a Pod can have.
 *
 * It has no probes: the status page listens on loopback, where the kubelet cannot ask. A replica that hangs or cannot renew the Lease
 * loses it to the other one and is a candidate again when it comes back; one that breaks down ends, and the kubelet restarts it.
 */
export function buildSchedulerDeployment({ image = "nckubelet:latest" }: { image?: string } = {}): object {
  const labels = { "app.kubernetes.io/name": "nckubelet-scheduler" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "nckubelet-scheduler", namespace: systemNamespace, labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: "nckubelet-scheduler",
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
            name: "scheduler",
            image,
            command: ["nckubelet"],
            args: ["scheduler"],
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

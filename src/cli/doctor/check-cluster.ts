/** What `nckubelet doctor` looks at in the API server, with the agent's own identity. Nothing is changed. */
import { stat } from "node:fs/promises";
import { group, leaseNamespace, plural } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus, KubeError } from "../../kube/kube-error.ts";
import { mayI, type Right } from "../../kube/access-review.ts";
import { ncappPath } from "../../kube/resources.ts";
import { describeError } from "../../lib/log.ts";
import { type ClusterConnection, connectCluster, readServerVersion } from "../cluster/cluster.ts";
import type { Finding } from "./finding.ts";

/** Leases last 40 s: a clock that is further off makes nodes look dead, and a little less is no sound clock either. */
const mostSkewMs = 5000;

/** What an agent must be allowed to. A test holds it against the RBAC that is installed. */
export const agentPermissions: Right[] = [
  ...["list", "watch"].map((verb) => ({ verb, group, resource: plural })),
  { verb: "patch", group, resource: plural, subresource: "status" },
  ...["get", "create", "patch"].map((verb) => ({ verb, group: "", resource: "nodes" })),
  { verb: "patch", group: "", resource: "nodes", subresource: "status" },
  ...["create", "patch"].map((verb) => ({ verb, group: "", resource: "events" })),
  ...["get", "create", "update"].map((verb) => (
    { verb, group: "coordination.k8s.io", resource: "leases", namespace: leaseNamespace }
  )),
];

/** Way, server, CRD, permissions and clock; what cannot be asked is left out. */
export async function checkCluster(
  options: {
    kubeconfig?: string;
    server?: string;
    namespace?: string;
    env?: Record<string, string | undefined>;
  },
): Promise<Finding[]> {
  let connection: ClusterConnection;
  try {
    connection = await connectCluster(options);
  } catch (error) {
    return [problem("api server", `${describeError(error)}; --standalone works without one`)];
  }
  using cluster = connection;
  const way = [...await checkFile(options.kubeconfig), await checkServer(cluster)];
  if (way.some(({ level }) => level === "problem")) return way;
  return [
    ...way,
    await checkNCApps(cluster.client, options.namespace),
    await checkPermissions(cluster.client, options.namespace),
    checkClock(cluster.clockSkewMs()),
  ];
}

async function checkFile(kubeconfig: string | undefined): Promise<Finding[]> {
  const mode = kubeconfig && (await stat(kubeconfig)).mode & 0o077;
  if (!mode) return [];
  const message = `others can read ${kubeconfig}: chmod 600 ${kubeconfig}`;
  return [{ check: "kubeconfig", level: "warning", message }];
}

async function checkServer({ client }: ClusterConnection): Promise<Finding> {
  const check = "api server";
  try {
    const { text } = await readServerVersion(client);
    return { check, level: "ok", message: `${text} at ${client.access.describe()}` };
  } catch (error) {
    const next = error instanceof KubeError && error.reason === "Unauthorized"
      ? "renew the credentials of the kubeconfig"
      : "check address, network and certificate authority";
    return problem(check, `${describeError(error)}; ${next}`);
  }
}

async function checkNCApps(client: KubeClient, namespace: string | undefined): Promise<Finding> {
  const check = "crd";
  try {
    await client.request({ path: ncappPath(namespace), query: { limit: 1 } });
    return { check, level: "ok", message: `${plural}.${group} is there` };
  } catch (error) {
    if (hasStatus(error, 404)) {
      return problem(check, "the NCApp resource is not installed: nckubelet manifests | kubectl apply -f -");
    }
    if (hasStatus(error, 403)) return { check, level: "warning", message: "may not be read; see rbac" };
    return problem(check, describeError(error));
  }
}

async function checkPermissions(client: KubeClient, namespace: string | undefined): Promise<Finding> {
  const check = "rbac";
  try {
    const answers = await Promise.all(
      agentPermissions.map((permission) =>
        mayI(client, permission.resource === plural ? { namespace, ...permission } : permission)
      ),
    );
    const denied = agentPermissions.filter((_, index) => !answers[index]).map(describePermission);
    if (denied.length === 0) {
      return { check, level: "ok", message: `all ${answers.length} permissions of an agent are granted` };
    }
    return problem(
      check,
      `may not ${
        denied.join(", ")
      }: nckubelet manifests | kubectl apply -f -, and have this identity in the group ` +
        "nckubelet:agents or in the namespace nckubelet-agents",
    );
  } catch (error) {
    return problem(check, describeError(error));
  }
}

function describePermission({ verb, resource, subresource }: Right): string {
  return `${verb} ${subresource ? `${resource}/${subresource}` : resource}`;
}

function checkClock(skewMs: number | undefined): Finding {
  const check = "clock";
  if (skewMs === undefined) {
    return { check, level: "warning", message: "the API server tells no time: not compared" };
  }
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) < mostSkewMs) {
    return { check, level: "ok", message: `within ${seconds} s of the API server's` };
  }
  const side = skewMs > 0 ? "behind" : "ahead of";
  return problem(check, `${seconds} s ${side} the API server's: set it, and run chrony or systemd-timesyncd`);
}

function problem(check: string, message: string): Finding {
  return { check, level: "problem", message };
}

/** The checks of the API server, with the agent's own identity. They change nothing. */
import { stat } from "node:fs/promises";
import { group, leaseNamespace, plural } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus, KubeError } from "../../kube/kube-error.ts";
import { mayI, type Right } from "../../kube/access-review.ts";
import { ncappPath } from "../../kube/resources.ts";
import { describeError } from "../../lib/log.ts";
import { type ClusterConnection, connectCluster, readServerVersion } from "../cluster.ts";
import type { Finding } from "./check-node.ts";

/** Leases last 40 s: a larger skew makes nodes look dead, and a skew of seconds already means a bad clock. */
const maxSkewMs = 5000;

/** The permissions that an agent needs. A test compares them with the RBAC that is installed. */
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

/** Checks the connection, server, CRD, permissions and clock; checks that cannot run are left out. */
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
    return [problem("api server", `${describeError(error)}; use --standalone to run without one`)];
  }
  using cluster = connection;
  const connected = [...await checkFile(options.kubeconfig), await checkServer(cluster)];
  if (connected.some(({ level }) => level === "problem")) return connected;
  return [
    ...connected,
    await checkNCApps(cluster.client, options.namespace),
    await checkPermissions(cluster.client, options.namespace),
    checkClock(cluster.clockSkewMs()),
  ];
}

async function checkFile(kubeconfig: string | undefined): Promise<Finding[]> {
  const mode = kubeconfig && (await stat(kubeconfig)).mode & 0o077;
  if (!mode) return [];
  const message = `other users can read ${kubeconfig}: chmod 600 ${kubeconfig}`;
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
      : "check the address, the network and the CA";
    return problem(check, `${describeError(error)}; ${next}`);
  }
}

async function checkNCApps(client: KubeClient, namespace: string | undefined): Promise<Finding> {
  const check = "crd";
  try {
    await client.request({ path: ncappPath(namespace), query: { limit: 1 } });
    return { check, level: "ok", message: `${plural}.${group} is installed` };
  } catch (error) {
    if (hasStatus(error, 404)) {
      return problem(check, "the NCApp CRD is not installed: nckubelet manifests | kubectl apply -f -");
    }
    if (hasStatus(error, 403)) {
      return { check, level: "warning", message: "you may not read NCApps; see rbac" };
    }
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
      }: nckubelet manifests | kubectl apply -f -, and add this identity to the group ` +
        "nckubelet:agents or the namespace nckubelet-agents",
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
    return { check, level: "warning", message: "not compared: the API server sends no Date header" };
  }
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) < maxSkewMs) {
    return { check, level: "ok", message: `within ${seconds} s of the API server's` };
  }
  const side = skewMs > 0 ? "behind" : "ahead of";
  return problem(check, `${seconds} s ${side} the API server's: set it, and run chrony or systemd-timesyncd`);
}

function problem(check: string, message: string): Finding {
  return { check, level: "problem", message };
}

/** The checks of the API server, with the agent's own identity. They change nothing. */
import { stat } from "node:fs/promises";
import { type CRDGaps, currentSince, findCRDGaps } from "../../api/install/install.ts";
import { crdName } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { hasStatus, KubeError } from "../../kube/kube-error.ts";
import { splitKubeconfig } from "../../kube/access/access.ts";
import { crds, ncappPath, resourcePath } from "../../kube/resources.ts";
import { describeError } from "../../lib/log.ts";
import { ownKubeconfig } from "../../node/identity/identity.ts";
import {
  agentPermissions,
  applyManifests,
  identityProblem,
  rightsProblem,
} from "../agent-rights/agent-rights.ts";
import { type ClusterConnection, connectCluster, readServerVersion } from "../cluster.ts";
import type { Finding } from "./check-node.ts";

/** Leases last 40 s: a larger skew makes nodes look dead, and a skew of seconds already means a bad clock. */
const maxSkewMs = 5000;

/** Checks the connection, server, CRD, permissions and clock; checks that cannot run are left out. */
export async function checkCluster(
  options: {
    kubeconfig?: string;
    server?: string;
    namespace?: string;
    /** The node of the agent whose credential this is. */
    nodeName?: string;
    env?: Record<string, string | undefined>;
    stateDir?: string;
  },
): Promise<Finding[]> {
  let connection: ClusterConnection;
  try {
    connection = await connectAsAgent(options);
  } catch (error) {
    const why = describeError(error);
    const hint = why.includes("--standalone") ? "" : "; use --standalone to run without one";
    return [problem("api server", `${why}${hint}`)];
  }
  using cluster = connection;
  const [access, [server, minor]] = [await checkFile(options.kubeconfig), await checkServer(cluster)];
  if (server.level === "problem") return [...access, server];
  return [
    ...access,
    server,
    await checkCRD(cluster.client, minor, options.namespace),
    await checkPermissions(cluster.client, options.namespace),
    ...await checkIdentity(cluster.client, options.nodeName),
    checkClock(cluster.clockSkewMs()),
  ];
}

/** An agent that joined with a bootstrap token has a certificate of its own. */
async function connectAsAgent(
  { stateDir = "", ...options }: Parameters<typeof checkCluster>[0],
): Promise<ClusterConnection> {
  const connection = await connectCluster(options);
  if (!connection.client.access.isBootstrap) return connection;
  connection.client.close();
  const kubeconfig = ownKubeconfig(stateDir);
  return await connectCluster({ ...options, kubeconfig }).catch((cause) => {
    throw new Error(
      "the agent has only a bootstrap token so far; its log says why it has no client certificate yet",
      { cause },
    );
  });
}

async function checkFile(kubeconfig: string | undefined): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const path of splitKubeconfig(kubeconfig ?? "")) {
    const mode = await stat(path).then(({ mode }) => mode & 0o077, () => 0);
    const message = `other users can read ${path}: chmod 600 ${path}`;
    if (mode) findings.push({ check: "kubeconfig", level: "warning", message });
  }
  return findings;
}

/** Returns the finding, and the minor version of the server. */
async function checkServer({ client }: ClusterConnection): Promise<[Finding, number]> {
  const check = "api server";
  try {
    const { text, minor } = await readServerVersion(client);
    return [{ check, level: "ok", message: `${text} at ${client.access.describe()}` }, minor];
  } catch (error) {
    const next = error instanceof KubeError && error.reason === "Unauthorized"
      ? "renew the credentials of the kubeconfig"
      : "check the address, the network and the CA";
    return [problem(check, `${describeError(error)}; ${next}`), 0];
  }
}

async function checkCRD(client: KubeClient, minor: number, namespace?: string): Promise<Finding> {
  const check = "crd";
  try {
    await client.request({ path: ncappPath(namespace), query: { limit: 1 } });
  } catch (error) {
    if (hasStatus(error, 404)) return problem(check, `the NCApp CRD is not installed: ${applyManifests}`);
    if (hasStatus(error, 403)) {
      return { check, level: "warning", message: "you may not read NCApps; see rbac" };
    }
    return problem(check, describeError(error));
  }
  try {
    return judgeCRD(
      findCRDGaps(await client.request({ path: resourcePath(crds, { name: crdName }) })),
      minor,
    );
  } catch (error) {
    const why = hasStatus(error, 403) ? "you may not read it; see rbac" : describeError(error);
    return { check, level: "warning", message: `${crdName} is installed, but not compared: ${why}` };
  }
}

/** What the gaps of the installed CRD cost. Servers before 1.31 cannot select by node, whatever the CRD says. */
function judgeCRD({ unknown, selectable }: CRDGaps, minor: number): Finding {
  const cost = "every agent lists and watches every NCApp of the cluster";
  const more = unknown.length > 5 ? ` and ${unknown.length - 5} more` : "";
  const gaps = [
    ...(unknown.length > 0
      ? [
        `it is older than this program, and the API server does not store ${
          unknown.slice(0, 5).join(", ")
        }${more}`,
      ]
      : []),
    ...(selectable || minor < currentSince ? [] : [`it cannot select NCApps by node, so ${cost}`]),
  ];
  if (gaps.length > 0) {
    return { check: "crd", level: "warning", message: `${gaps.join("; ")}: ${applyManifests}` };
  }
  const note = selectable
    ? ""
    : `; API servers before 1.${currentSince} cannot select NCApps by node: ${cost}`;
  return { check: "crd", level: "ok", message: `${crdName} is installed and up to date${note}` };
}

async function checkPermissions(client: KubeClient, namespace: string | undefined): Promise<Finding> {
  const check = "rbac";
  try {
    const missing = await rightsProblem(client, namespace);
    if (missing) return problem(check, missing);
    return {
      check,
      level: "ok",
      message: `all ${agentPermissions.length} permissions of an agent are granted`,
    };
  } catch (error) {
    return problem(check, describeError(error));
  }
}

/** Nothing, unless the credential is that of another node. */
async function checkIdentity(client: KubeClient, node: string | undefined): Promise<Finding[]> {
  const wrong = node && await identityProblem(client, node).catch(describeError);
  return wrong ? [problem("identity", wrong)] : [];
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

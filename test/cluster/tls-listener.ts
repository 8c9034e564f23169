import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { agentUser } from "../../src/api/names.ts";
import { startAgentProcess } from "../agent-process.ts";
import type { Cluster } from "../harness/cluster.ts";
import { ca, server as pair } from "../kube/access/certificates.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

/** The user who may only read metrics; the others are `defaultUsers`. */
export const monitorUser = { name: "monitor", groups: [] };

/** Off loopback, RBAC decides what users may read of the node, and the agent asks with its own rights. */
export async function testTlsListener(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["create", "clusterrole", "metrics", "--verb=get", "--resource=nodes/metrics"]);
  await cluster.kubectl([
    "create",
    "clusterrolebinding",
    "metrics",
    "--clusterrole=metrics",
    "--user=monitor",
  ]);
  using temp = tempFolder();
  const folder = temp.path;
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  await writeFile(certFile, pair.cert);
  await writeFile(keyFile, pair.key);
  await using agent = await startAgentProcess([
    ...["--kubeconfig", await cluster.kubeconfigFor(agentUser("node-b")), "--node-name", "node-b"],
    ...[
      "--listen",
      "127.0.0.1:0,0.0.0.0:0",
      "--tls-cert-file",
      certFile,
      "--tls-private-key-file",
      keyFile,
    ],
  ]);
  const port = await waitFor(
    "it serves by TLS",
    () => /serving address=https:\/\/0\.0\.0\.0:(\d+)/.exec(agent.log())?.[1],
  );
  const get = async (path: string, token?: string) => {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const call = request(`https://127.0.0.1:${port}${path}`, { ca, headers, agent: false }).end();
    const [response] = await once(call, "response");
    response.resume();
    return response.statusCode as number;
  };
  const [admin, stranger, monitor] = ["admin", "stranger", "monitor"].map((name) => cluster.tokenFor(name));
  const paths = ["/healthz", "/apps", "/metrics", "/stats/summary"];
  const all = (token?: string) => Promise.all(paths.map((path) => get(path, token)));
  // New RBAC takes effect once the API server's own watch has seen it.
  await waitFor("the monitor may", async () => await get("/metrics", monitor) === 200, 60_000);
  assert.deepEqual(await all(), [200, 401, 401, 401]);
  assert.deepEqual(await all("nobody-has-this-token"), [200, 401, 401, 401]);
  assert.deepEqual(await all(admin), [200, 200, 200, 200]);
  assert.deepEqual(await all(stranger), [200, 403, 403, 403]);
  assert.deepEqual(await all(monitor), [200, 403, 200, 403]);
}

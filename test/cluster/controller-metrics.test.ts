/** A scrape of the controllers, as Prometheus does it: by TLS, with a token that RBAC allows to read metrics. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:https";
import { test } from "node:test";
import { setSpecWith, setWith } from "../api/set-samples.ts";
import { defaultUsers, startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { parseMetrics } from "../server/parse-metrics.ts";
import { waitFor } from "../wait-for.ts";
import { startCommand } from "./scheduler-command.ts";

test("a token that may read metrics scrapes the controllers; others get 401 and 403", {
  skip: skipUnless("control-plane"),
  timeout: 120_000,
}, async (t) => {
  const users = [...defaultUsers, { name: "monitor", groups: [] }];
  await using cluster = await startControlPlane({ users });
  await installCRD(cluster);
  await cluster.kubectl([
    ...["create", "clusterrolebinding", "monitor"],
    ...["--clusterrole=nckubelet-metrics-reader", "--user=monitor"],
  ]);
  await cluster.apply(setWith(setSpecWith({ replicas: 1 }), { name: "web" }));
  const kubeconfig = await cluster.kubeconfigFor("nckubelet-scheduler");
  await using controller = startCommand("controller", ["--kubeconfig", kubeconfig, "--listen", "0.0.0.0:0"]);
  const port = await waitFor(
    "it serves by TLS",
    () => /address=https:\/\/0\.0\.0\.0:(\d+)/.exec(controller.log())?.[1],
  );
  const get = async (path: string, token?: string) => {
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    // Self-signed, as the ServiceMonitor expects it.
    const options = { rejectUnauthorized: false, headers, agent: false };
    const [response] = await once(request(`https://127.0.0.1:${port}${path}`, options).end(), "response");
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode as number, text };
  };
  const monitor = cluster.tokenFor("monitor");
  await waitFor("the monitor may", async () => (await get("/metrics", monitor)).status === 200, 60_000);
  const statuses = async (token?: string) =>
    await Promise.all(
      ["/healthz", "/livez", "/readyz", "/metrics", "/status"].map(async (path) =>
        (await get(path, token)).status
      ),
    );
  assert.deepEqual(await statuses(), [200, 200, 401, 401, 401]);
  assert.deepEqual(await statuses("nobody-has-this-token"), [200, 200, 401, 401, 401]);
  // Every user that the API server knows may read /readyz, by the role system:public-info-viewer.
  assert.deepEqual(await statuses(cluster.tokenFor("stranger")), [200, 200, 200, 403, 403]);
  assert.deepEqual(await statuses(monitor), [200, 200, 200, 200, 403]);

  const text = await waitFor("the set is in the metrics", async () => {
    const { text } = await get("/metrics", monitor);
    return text.includes("nckubelet_set_stalled{") && text;
  });
  const { samples } = parseMetrics(text);
  const stalled = samples.find(({ name }) => name === "nckubelet_set_stalled");
  assert.deepEqual(stalled?.labels, { namespace: "default", set: "web" });
  const expiring = samples.filter(({ name }) => name === "nckubelet_credential_expiration_timestamp_seconds");
  const names = expiring.map(({ labels }) => labels.credential);
  for (const credential of ["listen-certificate", "server-ca"]) {
    assert.ok(names.includes(credential), names.join());
  }
  t.diagnostic(`without a token: ${(await get("/metrics")).text.trim()}`);
});

import { join } from "node:path";
import { checkout } from "./parts.ts";
import type { Cluster } from "./cluster.ts";

/** Applies `crd/` as an admin would, and waits until the API server serves NCApps. */
export async function installCRD(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["apply", "-f", join(checkout, "crd")]);
  await cluster.kubectl([
    "wait",
    "--for=condition=established",
    "--timeout=30s",
    "crd/ncapps.app.example.com",
  ]);
}

import type { KubeClient } from "../../src/kube/client/client.ts";
import type { Lease } from "../../src/kube/lease.ts";
import { leases, resourcePath } from "../../src/kube/resources.ts";

/**
 * Renews the Lease of a holder that was killed for a last time, for a second: whoever waits for its end would otherwise wait for the
 * 15 s of a leader or the 40 s of a node.
 */
export async function endLease(
  admin: KubeClient,
  { namespace, name }: { namespace: string; name: string },
): Promise<void> {
  const path = resourcePath(leases, { namespace, name });
  // Microseconds, as Leases have them.
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  await admin.request<Lease>({
    method: "PATCH",
    path,
    body: { spec: { leaseDurationSeconds: 1, renewTime } },
  });
}

/** The scheduler's client of the API server, with as many connections as its requests need. */
import { schedulerManager } from "../api/names.ts";
import type { KubeAccess } from "../kube/access/access.ts";
import { createKubeClient, type KubeClient, type RequestReport } from "../kube/client/client.ts";

/** The number of binds in flight at the same time. */
export const maxBinds = 16;
/** Connections that remain for Leases, status and reads while all binds are in flight. */
const otherRequests = 8;

export function createSchedulerClient(
  access: KubeAccess,
  { version, onRequest }: { version: string; onRequest?: (report: RequestReport) => void },
): KubeClient {
  const userAgent = `${schedulerManager}/${version}`;
  return createKubeClient(access, { userAgent, maxInFlight: maxBinds + otherRequests, onRequest });
}

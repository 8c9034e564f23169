/** What the agent counts about itself, for `/metrics`. In memory only. */
import type { RequestReport } from "../kube/client/client.ts";
import { type Counter, createCounter, createHistogram, type Histogram } from "../lib/metrics.ts";

export interface AgentCounters {
  syncs: Histogram;
  appStarts: Histogram;
  apiRequests: Counter<{ verb: string; resource: string; code: string }>;
  watchRestarts: Counter<{ reason: string }>;
  /** Counts a request to the API server, and stores its outcome. */
  countRequest(report: RequestReport): void;
  /** The last completed request, and when it completed. */
  lastRequest(): { report: RequestReport; at: number } | undefined;
}

const syncBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];
const startBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createAgentCounters(): AgentCounters {
  const apiRequests: AgentCounters["apiRequests"] = createCounter();
  let last: { report: RequestReport; at: number } | undefined;
  return {
    syncs: createHistogram(syncBounds),
    appStarts: createHistogram(startBounds),
    apiRequests,
    watchRestarts: createCounter(),
    countRequest(report) {
      const { verb, resource, code } = report;
      apiRequests.add({ verb, resource, code: String(code) });
      last = { report, at: Date.now() };
    },
    lastRequest: () => last,
  };
}

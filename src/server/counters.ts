/** What the agent counts about itself, for `/metrics`. In memory only. */
import { plural } from "../api/names.ts";
import type { RequestReport } from "../kube/client/client.ts";
import { createCredentialTimes, type CredentialTimes } from "./credential-times.ts";
import { type Counter, createCounter, createHistogram, type Histogram } from "../lib/metrics.ts";

export interface AgentCounters {
  syncs: Histogram;
  appStarts: Histogram;
  apiRequests: Counter<{ verb: string; resource: string; code: string }>;
  watchRestarts: Counter<{ reason: string }>;
  credentials: CredentialTimes;
  /** Counts a request to the API server, and stores its outcome. */
  countRequest(report: RequestReport): void;
  /** What the agent must do and the API server refuses, by what it is. */
  refused(): ReadonlyMap<string, Refused>;
  /** The last completed request, and when it completed. */
  lastRequest(): { report: RequestReport; at: number } | undefined;
}

interface Refused {
  code: number;
  since: number;
}

const syncBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];
const startBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Without these, the node is not registered, or gets no apps. The status of an app is not among them: one may be refused by itself. */
const necessary: ReadonlySet<string> = new Set(["leases", "nodes", "nodes/status", plural]);

export function createAgentCounters(): AgentCounters {
  const apiRequests: AgentCounters["apiRequests"] = createCounter();
  const refused = new Map<string, Refused & { isCreation: boolean }>();
  let last: { report: RequestReport; at: number } | undefined;
  return {
    syncs: createHistogram(syncBounds),
    appStarts: createHistogram(startBounds),
    apiRequests,
    watchRestarts: createCounter(),
    credentials: createCredentialTimes(),
    countRequest(report) {
      const { verb, resource, code } = report;
      apiRequests.add({ verb, resource, code: String(code) });
      const now = Date.now();
      last = { report, at: now };
      if (!necessary.has(resource)) return;
      // Any read, or any write, that succeeds shows that others of its kind may.
      const what = `${isRead(verb) ? "read" : "write"} ${resource}`;
      if (code === 401 || code === 403) {
        refused.set(what, { code, since: refused.get(what)?.since ?? now, isCreation: verb === "create" });
      } else if (code >= 200 && code < 300) {
        refused.delete(what);
        // Someone else has created the Node: the agent need not do it any more.
        if (verb === "get" && resource === "nodes" && refused.get("write nodes")?.isCreation) {
          refused.delete("write nodes");
        }
      }
    },
    refused: () => refused,
    lastRequest: () => last,
  };
}

function isRead(verb: string): boolean {
  return verb === "get" || verb === "list" || verb === "watch";
}

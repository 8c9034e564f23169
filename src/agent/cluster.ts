/**
 * The agent's side that speaks with the API server: the client, the status reports, the events.
 */
import type { NCApp, NCAppStatus } from "../api/types.ts";
import { loadAccess } from "../kube/access.ts";
import { createKubeClient, type KubeClient } from "../kube/client.ts";
import { version } from "../lib/version.ts";
import { createEventRecorder } from "../report/event-recorder.ts";
import { createStatusReporter } from "../report/status-reporter.ts";
import type { AppEvent, RunnableApp } from "../supervisor/types.ts";
import type { AgentOptions } from "./options.ts";

export interface Cluster {
  client: KubeClient;
  /** Tells what the API server has of an app. */
  saw(app: NCApp): void;
  report(app: RunnableApp, status: NCAppStatus): void;
  recordEvent(app: RunnableApp, event: AppEvent): void;
  forget(app: RunnableApp): void;
  /** Lets the last reports out, then ends. */
  close(): Promise<void>;
}

const lastReportsMs = 2000;

/** Finds the API server by the options. Whether it answers is for the sources to find out, again and again. */
export async function connectCluster(options: AgentOptions): Promise<Cluster> {
  const { kubeconfig, server, env, log, reportPeriodMs } = options;
  const access = await loadAccess({ kubeconfig, server, env });
  log.info("using the API server", { server: access.describe() });
  const client = createKubeClient(access, { userAgent: `nckubelet/${version}` });
  const reporter = createStatusReporter({ client, log, reportPeriodMs });
  const recorder = createEventRecorder({ client, component: "nckubelet", node: options.nodeName, log });
  return {
    client,
    saw: ({ metadata, status }) =>
      reporter.saw({ ...refOf({ metadata }), resourceVersion: metadata.resourceVersion }, status),
    report: (app, status) => reporter.report(refOf(app), status),
    recordEvent: (app, event) => recorder.record(refOf(app), event),
    forget(app) {
      const { namespace, name, uid } = refOf(app);
      reporter.forget(namespace, name, uid);
    },
    async close() {
      await Promise.all([reporter.flush(lastReportsMs), recorder.flush(lastReportsMs)]);
      reporter.close();
      recorder.close();
      client.close();
    },
  };
}

function refOf(
  { metadata }: { metadata: NCApp["metadata"] },
): { namespace: string; name: string; uid: string } {
  return { namespace: metadata.namespace ?? "", name: metadata.name, uid: metadata.uid ?? "" };
}

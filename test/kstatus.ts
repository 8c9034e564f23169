/**
 * How Flux, Helm and `kubectl`-like tools judge a custom resource: the published rules of kstatus (kubernetes-sigs/cli-utils), which know
 * nothing about its kind.
 */
export type Verdict = "Terminating" | "InProgress" | "Failed" | "Current";

interface Judged {
  metadata: { generation?: number; deletionTimestamp?: string };
  status?: { observedGeneration?: number; conditions?: readonly { type: string; status: string }[] };
}

export function kstatus({ metadata, status = {} }: Judged): Verdict {
  const { observedGeneration, conditions = [] } = status;
  if (metadata.deletionTimestamp) return "Terminating";
  const isBehind = metadata.generation !== undefined && observedGeneration !== undefined &&
    observedGeneration !== metadata.generation;
  if (isBehind) return "InProgress";
  // The first of these decides.
  const abnormal = conditions.find(({ type, status }) =>
    (type === "Reconciling" || type === "Stalled") && status === "True"
  );
  if (abnormal) return abnormal.type === "Stalled" ? "Failed" : "InProgress";
  const ready = conditions.find(({ type }) => type === "Ready");
  return ready && ready.status !== "True" ? "InProgress" : "Current";
}

/**
 * The kubelet's `/stats/summary` for apps: each is a pod with one container of its name. Pure.
 *
 * Caveat: the working set is all memory that the kernel charges to the app, including page cache.
 */
import type { AgentView, AppView } from "../view.ts";

/** How apps are called in the summary: the agent's own endpoint has no Pods. */
export type NamePod = (app: AppView) => PodName | undefined;

interface PodName {
  pod: string;
  uid?: string;
  container: string;
}

const asItself: NamePod = ({ app: { metadata: { name, uid } } }) => ({ pod: name, uid, container: name });

/** Returns the summary at `now`, without figures that were not measured. */
export function summarize(view: AgentView, now: Date, namePod: NamePod = asItself): object {
  const time = now.toISOString();
  const usage = view.nodeUsage();
  return {
    node: {
      nodeName: view.node,
      startTime: view.startedAt.toISOString(),
      ...(usage && {
        cpu: { time, usageNanoCores: nanoCores(usage.cpuPCT, view) },
        memory: {
          time,
          availableBytes: usage.memoryAvailableBytes,
          usageBytes: usage.memoryBytes,
          workingSetBytes: usage.memoryBytes,
        },
        rlimit: { time, curproc: usage.threads, ...finite("maxpid", usage.maxThreads) },
        ...(usage.disk && {
          fs: {
            time,
            availableBytes: usage.disk.availableBytes,
            capacityBytes: usage.disk.totalBytes,
            usedBytes: usage.disk.totalBytes - usage.disk.availableBytes,
            inodesFree: usage.disk.freeInodes,
            inodes: usage.disk.inodes,
            inodesUsed: usage.disk.inodes - usage.disk.freeInodes,
          },
        }),
      }),
    },
    pods: view.apps().filter(({ usage }) => usage).flatMap((app) => {
      const names = namePod(app);
      return names ? [podOf(app, names, view, time)] : [];
    }),
  };
}

function podOf(
  { app, status, usage, limits }: AppView,
  { pod, uid, container }: PodName,
  view: AgentView,
  time: string,
): object {
  const { namespace } = app.metadata;
  const startTime = status.startTime ?? time;
  const memoryBytes = usage?.memoryBytes ?? 0;
  const cpu = {
    time,
    usageNanoCores: nanoCores(Number(status.cpuPCT ?? 0), view),
    usageCoreNanoSeconds: Math.round((usage?.cpuSeconds ?? 0) * 1e9),
  };
  const memory = {
    time,
    ...(limits.memoryBytes === undefined
      ? {}
      : { availableBytes: Math.max(0, limits.memoryBytes - memoryBytes) }),
    usageBytes: memoryBytes,
    workingSetBytes: memoryBytes,
  };
  return {
    podRef: { name: pod, namespace, uid },
    startTime,
    containers: [{ name: container, startTime, cpu, memory }],
    cpu,
    memory,
    process_stats: { process_count: usage?.processes ?? 0 },
  };
}

function nanoCores(percent: number, { size }: AgentView): number {
  return Math.round(percent / 100 * size.cpus * 1e9);
}

function finite(name: string, value: number): object {
  return Number.isFinite(value) ? { [name]: value } : {};
}

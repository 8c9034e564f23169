/** Hollow agents in a few processes of their own, so that they do not wait for each other or for what measures them. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Requests by verb and resource, such as `update leases`. */
export type RequestCounts = Record<string, number>;

export interface Fleet {
  /** The requests of all agents so far. */
  requests(): Promise<RequestCounts>;
  stop(): Promise<void>;
}

/** How long a busy worker may take to end. */
const stopMs = 10_000;

/** Starts agents for the nodes, by their kubeconfigs, in this many processes; resolves when all run. */
export async function startFleet(kubeconfigs: [node: string, file: string][], count: number): Promise<Fleet> {
  const program = fileURLToPath(new URL("./worker.ts", import.meta.url));
  const share = Math.ceil(kubeconfigs.length / count);
  const workers = Array.from({ length: count }, (_, at) => {
    const own = kubeconfigs.slice(at * share, (at + 1) * share);
    return fork(program, [JSON.stringify(own)]);
  });
  const stop = async () => {
    await Promise.all(
      workers.filter(({ connected }) => connected).map(async (worker) => {
        const ended = once(worker, "exit");
        worker.disconnect();
        const timer = setTimeout(() => worker.kill("SIGKILL"), stopMs);
        await ended;
        clearTimeout(timer);
      }),
    );
  };
  try {
    await Promise.all(workers.map(hear));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    stop,
    async requests() {
      const counts = await Promise.all(workers.map(async (worker) => {
        const answer = hear(worker);
        worker.send("requests");
        return await answer as RequestCounts;
      }));
      const sum: RequestCounts = {};
      for (const [kind, made] of counts.flatMap(Object.entries)) sum[kind] = (sum[kind] ?? 0) + made;
      return sum;
    },
  };
}

/** Returns the next message of a worker; throws if it ends before. */
async function hear(worker: ChildProcess): Promise<unknown> {
  const listening = new AbortController();
  const { signal } = listening;
  try {
    return await Promise.race([
      once(worker, "message", { signal }).then(([message]) => message),
      once(worker, "exit", { signal }).then(([code]) => {
        throw new Error(`a process of the fleet ended with ${code}`);
      }),
    ]);
  } finally {
    listening.abort();
  }
}

/** Returns what was counted between two readings. Pure. */
export function countsSince(before: RequestCounts, after: RequestCounts): RequestCounts {
  const since = Object.entries(after).map(([kind, made]) => [kind, made - (before[kind] ?? 0)] as const);
  return Object.fromEntries(since.filter(([, made]) => made > 0).sort(([, one], [, other]) => other - one));
}

export function sumOf(counts: RequestCounts): number {
  return Object.values(counts).reduce((sum, made) => sum + made, 0);
}

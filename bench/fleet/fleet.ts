/** Hollow agents in a few processes of their own, so that they do not wait for each other or for what measures them. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { readCost } from "../process-cost.ts";
import type { RequestCounts } from "./requests.ts";

export type Credentials = [node: string, kubeconfig: string];

export interface Fleet {
  /** Starts agents for these nodes, spread over the processes; resolves when they run. */
  start(agents: Credentials[]): Promise<void>;
  /** The requests of all agents so far. */
  requests(): Promise<RequestCounts>;
  /** The CPU time of all agents so far. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

/** How long a busy worker may take to end. */
const stopMs = 10_000;

/** Creates a fleet without agents in this many processes. */
export function createFleet(processes: number): Fleet {
  const program = fileURLToPath(new URL("./worker.ts", import.meta.url));
  const workers = Array.from({ length: processes }, () => fork(program));
  return {
    async start(agents) {
      await Promise.all(workers.map((worker, at) => {
        const own = agents.filter((_, index) => index % workers.length === at);
        return ask(worker, { start: own });
      }));
    },
    async requests() {
      const counts = await Promise.all(workers.map((worker) => ask(worker, {}) as Promise<RequestCounts>));
      const sum: RequestCounts = {};
      for (const [kind, made] of counts.flatMap(Object.entries)) sum[kind] = (sum[kind] ?? 0) + made;
      return sum;
    },
    cpuSeconds: () => workers.reduce((sum, { pid = 0 }) => sum + readCost(pid).cpuSeconds, 0),
    async stop() {
      await Promise.all(
        workers.filter(({ connected }) => connected).map(async (worker) => {
          const ended = once(worker, "exit");
          worker.disconnect();
          const timer = setTimeout(() => worker.kill("SIGKILL"), stopMs);
          await ended;
          clearTimeout(timer);
        }),
      );
    },
  };
}

/** A request to a worker: agents to start, or none. It answers with the requests of its agents so far. */
export interface Order {
  start?: Credentials[];
}

/** Returns the answer of a worker; throws if it ends before. */
async function ask(worker: ChildProcess, order: Order): Promise<unknown> {
  const listening = new AbortController();
  const { signal } = listening;
  try {
    const answer = Promise.race([
      once(worker, "message", { signal }).then(([message]) => message),
      once(worker, "exit", { signal }).then(([code]) => {
        throw new Error(`a process of the fleet ended with ${code}`);
      }),
    ]);
    worker.send(order);
    return await answer;
  } finally {
    listening.abort();
  }
}

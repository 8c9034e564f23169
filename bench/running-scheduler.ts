/** A scheduler in this process, without an election. */
import type { KubeClient } from "../src/kube/client/client.ts";
import { silentLogger } from "../src/lib/log.ts";
import { runScheduler } from "../src/scheduler/scheduler.ts";

/** Starts it with this many concurrent binds. */
export function startScheduler(
  client: KubeClient,
  bindPlaces: number,
  seed: number,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const done = runScheduler({
    client,
    log: silentLogger,
    version: "bench",
    identity: `bench-${seed}`,
    schedulerName: "nc-scheduler",
    policy: "spread",
    leaderElect: false,
    bindPlaces,
    seed,
  }, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

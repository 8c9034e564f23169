/** A scheduler in this process, without an election. */
import type { KubeClient } from "../src/kube/client/client.ts";
import { silentLogger } from "../src/lib/log.ts";
import { runController } from "../src/controller/controller.ts";

/** Starts it with this many concurrent binds. */
export function startScheduler(
  client: KubeClient,
  maxBindsInFlight: number,
  identity: string,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const done = runController({
    names: ["scheduler"],
    client,
    log: silentLogger,
    version: "bench",
    identity,
    schedulerName: "nc-scheduler",
    policy: "spread",
    leaderElect: false,
    maxBindsInFlight,
  }, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

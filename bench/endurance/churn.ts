/**
 * Changes NCApps at a steady rate until its signal aborts: creates, changes of caps and annotations, restarts, deletes, and
 * names that are deleted and recreated at once.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { hasStatus } from "../../src/kube/kube-error.ts";
import { ncappPath } from "../../src/kube/resources.ts";
import { createApp } from "../../test/harness/create-app.ts";
import { seededRandom } from "../../test/random.ts";

export interface ChurnOptions {
  apps: number;
  /** Changes per second. */
  rate: number;
  seed: number;
  /** The spec of a new app. */
  spec: object;
}

export interface Churn {
  /** Changes that the API server accepted, by kind. */
  counts: Record<string, number>;
  /** Requests that it refused, by message. */
  refused: Record<string, number>;
  /** The number of apps that exist now. */
  live(): number;
  /** Runs until the signal aborts; resolves when no request is in flight. */
  run(signal: AbortSignal): Promise<void>;
  /** Deletes all apps. */
  clear(): Promise<void>;
}

/** More would only queue in the client. */
const mostUnderWay = 30;

/** Creates the load generator, which is idle until `run`. */
export function createChurn(client: KubeClient, { apps, rate, seed, spec }: ChurnOptions): Churn {
  const random = seededRandom(seed);
  const live = new Set<string>();
  const busy = new Set<string>();
  const counts: Record<string, number> = {};
  const refused: Record<string, number> = {};
  const path = (name: string) => ncappPath("default", name);
  const patch = (name: string, body: object) => client.request({ method: "PATCH", path: path(name), body });

  const kinds: Record<string, (name: string) => Promise<unknown>> = {
    async create(name) {
      await createApp(client, name, spec);
      live.add(name);
    },
    caps: (name) => patch(name, { spec: { cpuPCT: String(1 + Math.floor(random() * 50)), memPCT: "10" } }),
    annotate: (name) => patch(name, { metadata: { annotations: { "example.com/note": String(random()) } } }),
    restart: (name) =>
      patch(name, { metadata: { annotations: { "app.example.com/restartedAt": String(random()) } } }),
    async delete(name) {
      live.delete(name);
      await client.request({ method: "DELETE", path: path(name) });
    },
    async recreate(name) {
      await client.request({ method: "DELETE", path: path(name) });
      await createApp(client, name, spec);
    },
  };

  /** In the steady state, half of the names exist at any time. */
  const choose = (name: string): string => {
    if (!live.has(name)) return "create";
    const chance = random();
    return chance < 0.55
      ? "caps"
      : chance < 0.8
      ? "annotate"
      : chance < 0.83
      ? "restart"
      : chance < 0.93
      ? "delete"
      : "recreate";
  };

  async function changeOne(): Promise<void> {
    const name = `churn-${Math.floor(random() * apps)}`;
    if (busy.has(name)) return;
    busy.add(name);
    const kind = choose(name);
    try {
      await kinds[kind]!(name);
      counts[kind] = (counts[kind] ?? 0) + 1;
    } catch (error) {
      const message = (error as Error).message.replaceAll(/churn-\d+/g, "churn-N").slice(0, 120);
      refused[message] = (refused[message] ?? 0) + 1;
      // The server's list counts, not the planned one.
      if (hasStatus(error, 409)) live.add(name);
      if (hasStatus(error, 404)) live.delete(name);
    } finally {
      busy.delete(name);
    }
  }

  return {
    counts,
    refused,
    live: () => live.size,
    async run(signal) {
      const underWay = new Set<Promise<void>>();
      const began = performance.now();
      for (let number = 0; !signal.aborted; number++) {
        const due = began + number * 1000 / rate;
        await pause(Math.max(0, due - performance.now()));
        if (underWay.size >= mostUnderWay) await Promise.race(underWay);
        const change = changeOne().finally(() => underWay.delete(change));
        underWay.add(change);
      }
      await Promise.all(underWay);
    },
    async clear() {
      for (const name of [...live]) {
        await client.request({ method: "DELETE", path: path(name) }).catch(() => {});
        live.delete(name);
      }
    },
  };
}

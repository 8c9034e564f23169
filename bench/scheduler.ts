/**
 * How fast the scheduler decides, and how fast it binds.
 *
 *     node bench/scheduler.ts             the pure core: 100 to 5,000 nodes with ten apps each, mixed constraints
 *     node bench/scheduler.ts --server    binds on a real API server, beside raw merge patches by the same client
 *
 * Decisions are counted by the CPU time of this process as well as by the clock, since other work on the machine slows only the
 * latter. Caveat: on the server all of it, etcd, API server and scheduler, shares this machine.
 */
import { performance } from "node:perf_hooks";
import process from "node:process";
import { seededRandom } from "../src/scheduler/random.ts";
import { schedule } from "../src/scheduler/schedule.ts";
import { mixedApps, mixedNodes } from "../test/scheduler/cluster.ts";

if (process.argv.includes("--server")) await benchmarkServer();
else benchmarkCore();

function benchmarkCore(): void {
  decideAll(1000, 3000);
  const sizes = [100, 500, 1000, 5000];
  const results = sizes.map((nodes) => decideAll(nodes, nodes * 10));
  const [smallest, largest] = [results[0]!, results.at(-1)!];
  const growth = largest.microseconds / smallest.microseconds;
  console.log(
    `from ${smallest.nodes} to ${largest.nodes} nodes, 50 times as many, a decision costs ${
      growth.toFixed(1)
    } times as much`,
  );
}

function decideAll(nodes: number, count: number): { nodes: number; microseconds: number } {
  globalThis.gc?.();
  const heapBefore = process.memoryUsage().heapUsed;
  const snapshot = mixedNodes(nodes, 1);
  const apps = mixedApps(count, 2);
  const random = seededRandom(3);
  let [start, placed, examined] = [0, 0, 0];
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (const app of apps) {
    const decision = schedule(app, snapshot, { policy: "spread", now: 0, random, start });
    if (!("node" in decision)) continue;
    snapshot.place(app, decision.node);
    start = (start + decision.examined) % nodes;
    examined += decision.examined;
    placed++;
  }
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  globalThis.gc?.();
  const heapMiB = (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20;
  const microseconds = (user + system) / count;
  console.log(
    `${nodes} nodes, ${count} apps: ${perSecond(count, (user + system) / 1000)} by CPU time, ${
      perSecond(count, ms)
    } by the clock, ` +
      `${microseconds.toFixed(0)} us each; ${placed} placed, ${
        Math.round(examined / placed)
      } nodes looked at on average; ` +
      `heap ${heapMiB.toFixed(0)} MiB for nodes and apps${
        globalThis.gc ? "" : " (not collected: run with --expose-gc)"
      }`,
  );
  return { nodes, microseconds };
}

async function benchmarkServer(): Promise<void> {
  const { benchmarkBinds } = await import("./scheduler-binds.ts");
  await benchmarkBinds({ apps: 1500, rounds: 3 });
}

function perSecond(count: number, ms: number): string {
  return `${Math.round(count / ms * 1000).toLocaleString("en")} decisions/s`;
}

/**
 * How fast the scheduler decides, and how fast it binds.
 *
 *     node bench/scheduler.ts             the pure core: 100 to 5,000 nodes with ten apps each, mixed constraints
 *     node bench/scheduler.ts --server    binds on a real API server, beside raw merge patches by the same client
 *     node bench/scheduler.ts --rivals    two schedulers without an election on 1,000 apps of a real API server
 *
 * Decisions are counted by the CPU time of this process as well as by the clock, since other work on the machine slows only the
 * latter. Caveat: on the server all of it, etcd, API server and scheduler, shares this machine.
 */
import { performance } from "node:perf_hooks";
import process from "node:process";
import { seededRandom } from "../src/scheduler/random.ts";
import { schedule } from "../src/scheduler/schedule.ts";
import { mixedApps, mixedNodes } from "../test/scheduler/cluster.ts";

/** With `node --expose-gc`: without it the figures of memory hold garbage. */
const collectGarbage = (globalThis as { gc?: () => void }).gc;

if (process.argv.includes("--server")) {
  await (await import("./scheduler-binds.ts")).benchmarkBinds({ apps: 400, rounds: 9 });
} else if (process.argv.includes("--rivals")) {
  await (await import("./scheduler-binds.ts")).benchmarkRivals({ apps: 1000 });
} else benchmarkCore();

function benchmarkCore(): void {
  decideAll(1000, 10_000);
  const results = [100, 500, 1000, 5000].map((nodes) => {
    const result = decideAll(nodes, nodes * 10);
    report(result);
    return result;
  });
  const [smallest, largest] = [results[0]!, results.at(-1)!];
  const growth = largest.cpuMs / largest.apps / (smallest.cpuMs / smallest.apps);
  console.log(
    `from ${smallest.nodes} to ${largest.nodes} nodes, ${largest.nodes / smallest.nodes} times as many, ` +
      `a decision costs ${growth.toFixed(1)} times as much`,
  );
}

interface Result {
  nodes: number;
  apps: number;
  placed: number;
  examined: number;
  cpuMs: number;
  clockMs: number;
  heapMiB: number;
}

/** Fills a cluster; a small one several times, until there is enough to measure. */
function decideAll(nodes: number, appsEach: number): Result {
  const result: Result = { nodes, apps: 0, placed: 0, examined: 0, cpuMs: 0, clockMs: 0, heapMiB: 0 };
  for (let seed = 1; result.apps < 20_000; seed++) fill(result, nodes, appsEach, seed);
  return result;
}

function fill(result: Result, nodes: number, count: number, seed: number): void {
  collectGarbage?.();
  const heapBefore = process.memoryUsage().heapUsed;
  const snapshot = mixedNodes(nodes, seed);
  const apps = mixedApps(count, seed + 1);
  const random = seededRandom(seed);
  let start = 0;
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (const app of apps) {
    const decision = schedule(app, snapshot, { policy: "spread", now: 0, random, start });
    if (!("node" in decision)) continue;
    snapshot.place(app, decision.node);
    start = (start + decision.examined) % nodes;
    result.examined += decision.examined;
    result.placed++;
  }
  result.clockMs += performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  result.cpuMs += (user + system) / 1000;
  collectGarbage?.();
  result.heapMiB = (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20;
  result.apps += snapshot.nodes.length === nodes ? apps.length : 0;
}

function report({ nodes, apps, placed, examined, cpuMs, clockMs, heapMiB }: Result): void {
  const memory = collectGarbage ? `, ${heapMiB.toFixed(0)} MiB of heap for nodes and apps` : "";
  console.log(
    `${nodes} nodes, ${nodes * 10} apps: ${perSecond(apps, cpuMs)} by CPU time, ${
      perSecond(apps, clockMs)
    } by the clock, ` +
      `${(cpuMs / apps * 1000).toFixed(0)} us each; ${percentOf(placed, apps)} placed, ` +
      `${Math.round(examined / placed)} nodes looked at for one${memory}`,
  );
}

function percentOf(part: number, whole: number): string {
  return `${Math.round(part / whole * 100)}%`;
}

function perSecond(count: number, ms: number): string {
  return `${Math.round(count / ms * 1000).toLocaleString("en")} decisions/s`;
}

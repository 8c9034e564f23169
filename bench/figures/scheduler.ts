/**
 * How fast the scheduler's pure core decides, and how that grows with the cluster.
 *
 * Decisions are counted by the CPU time of this process, since other work on the machine slows only the clock. The apps have mixed
 * constraints, ten to a node.
 */
import process from "node:process";
import { seededRandom } from "../../test/random.ts";
import { chooseNode } from "../../src/scheduler/place/choose-node.ts";
import { mixedApps, mixedNodes } from "../../test/scheduler/mixed-cluster.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";
import { growthPerUnit } from "../statistics.ts";

const sizes = [100, 500, 1000, 5000];
const appsPerNode = 10;
const leastDecisions = 20_000;

export const scheduler: Benchmark = {
  name: "scheduler",
  about:
    `Decisions of the scheduler's core, by CPU time, for clusters of ${
      sizes.join(", ")
    } nodes with ${appsPerNode} apps each ` +
    "and mixed constraints.",
  needs: [],
  run: async (context) => measure(context),
};

interface Tally {
  decisions: number;
  placed: number;
  examined: number;
  cpuMs: number;
}

function measure({ say, chart }: Context): Figure[] {
  decideAll(1000); // until the code is compiled
  const results = sizes.map((nodes) => {
    say(`${nodes} nodes`);
    return { nodes, ...decideAll(nodes) };
  });
  const costs = results.map((
    { nodes, cpuMs, decisions },
  ): [number, number] => [nodes, cpuMs / decisions * 1000]);
  chart({
    name: "scheduler",
    title: "CPU time of one decision",
    x: { label: "nodes" },
    y: { label: "microseconds" },
    lines: [{ name: "one decision", points: costs }],
  });
  const [least, most] = [results[0]!, results.at(-1)!];
  const whole = results.map(({ nodes }, at): [number, number] => [nodes, costs[at]![1]]);
  return [
    ...results.map(({ nodes, decisions, cpuMs, placed, examined }): Figure => ({
      figure: `scheduler, ${nodes} nodes`,
      ours: decisions / cpuMs * 1000,
      unit: "decisions/s",
      better: "higher",
      note: `${Math.round(placed / decisions * 100)}% placed, ${
        Math.round(examined / placed)
      } nodes looked at for one`,
    })),
    {
      figure: `scheduler, cost of a decision with ${most.nodes / least.nodes} times the nodes`,
      ours: growthPerUnit(whole) * (most.nodes / least.nodes),
      unit: "times",
      limit: { what: "linear growth", value: most.nodes / least.nodes },
    },
  ];
}

/** Fills a cluster; a small one several times, to get enough samples. */
function decideAll(nodes: number): Tally {
  const tally: Tally = { decisions: 0, placed: 0, examined: 0, cpuMs: 0 };
  for (let seed = 1; tally.decisions < leastDecisions; seed++) fill(tally, nodes, seed);
  return tally;
}

function fill(tally: Tally, nodes: number, seed: number): void {
  const snapshot = mixedNodes(nodes, seed);
  const apps = mixedApps(nodes * appsPerNode, seed + 1);
  const random = seededRandom(seed);
  let start = 0;
  const before = process.cpuUsage();
  for (const app of apps) {
    const decision = chooseNode(app, snapshot, { policy: "spread", now: 0, random, start });
    if (!("node" in decision)) continue;
    snapshot.place(app, decision.node);
    start = (start + decision.examined) % nodes;
    tally.examined += decision.examined;
    tally.placed++;
  }
  const { user, system } = process.cpuUsage(before);
  tally.cpuMs += (user + system) / 1000;
  tally.decisions += apps.length;
}

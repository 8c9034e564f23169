/**
 * How long the sets controller takes to plan one set, by CPU time, and how that grows with the nodes: at rest, which is most of the
 * time, and in the middle of a rollout, with overrides on a third of the nodes.
 */
import process from "node:process";
import { setSpec } from "../../src/api/schema/schema.ts";
import type { NCAppSetSpec } from "../../src/api/types.ts";
import { withDefaults } from "../../src/api/validate/validate.ts";
import { SimulatedCluster } from "../../test/sets/plan/simulated-cluster.ts";
import type { Benchmark, Context, Figure } from "../benchmark.ts";

const sizes = [500, 1000, 2000, 5000];
const times = 20;
/** What the design asks of 5,000 nodes. */
const askedMs = 100;

export const setsPlan: Benchmark = {
  name: "sets-plan",
  about: `One plan of an NCAppSet on ${
    sizes.join(", ")
  } nodes, by CPU time: at rest, and in the middle of a rollout.`,
  needs: [],
  run: async (context) => measure(context),
};

function measure({ say, chart }: Context): Figure[] {
  planMs(started(500)); // until the code is compiled
  const results = sizes.map((nodes) => {
    say(`${nodes} nodes`);
    const cluster = started(nodes);
    const rest = planMs(cluster);
    cluster.editApp({ shellFile: "/opt/v2.sh" });
    for (let step = 0; step < 3; step++) cluster.reconcile();
    return { nodes, rest, rollout: planMs(cluster) };
  });
  chart({
    name: "sets-plan",
    title: "CPU time of one plan of an NCAppSet",
    x: { label: "nodes" },
    y: { label: "milliseconds" },
    lines: [
      { name: "at rest", points: results.map(({ nodes, rest }): [number, number] => [nodes, rest]) },
      {
        name: "during a rollout",
        points: results.map(({ nodes, rollout }): [number, number] => [nodes, rollout]),
      },
    ],
  });
  return results.flatMap(({ nodes, rest, rollout }): Figure[] => [
    { figure: `plan of a set at rest, ${nodes} nodes`, ours: rest, unit: "ms", asked: askedMs },
    { figure: `plan of a set during a rollout, ${nodes} nodes`, ours: rollout, unit: "ms", asked: askedMs },
  ]);
}

/** A set whose apps all run. */
function started(nodes: number): SimulatedCluster {
  const overrides = [{ nodeSelector: { zone: "lab" }, patch: { spec: { cpuPCT: "50" } } }];
  const cluster = new SimulatedCluster({ nodes, spec: { update: { maxUnavailable: "10%" }, overrides } });
  cluster.set.spec = withDefaults(setSpec, cluster.set.spec) as NCAppSetSpec;
  for (let at = 0; at < nodes; at += 3) cluster.changeNode(`n${at}`, { labels: { zone: "lab" } });
  for (let round = 0; round < 4; round++) {
    cluster.reconcile();
    for (const name of cluster.apps.keys()) cluster.agentStep(name), cluster.see(name);
  }
  return cluster;
}

function planMs(cluster: SimulatedCluster): number {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) cluster.plan();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / times;
}

/**
 * How fast the scheduler's pure core decides, and how that grows with the cluster.
 *
 * Decisions are counted by the CPU time of this process, since other work on the machine slows only the clock. The apps have mixed
 * constraints, ten to a node; of those that are spread, a hundred to a set.
 */
import process from "node:process";
import { seededRandom } from "../../test/random.ts";
import { chooseNode } from "../../src/scheduler/place/place.ts";
import { mixedApps, mixedNodes } from "../../test/scheduler/mixed-cluster.ts";
import type { LabelSelector } from "../../src/api/label-selector.ts";
import { apiVersion, setKind } from "../../src/api/names.ts";
import type { NCAppSpec } from "../../src/api/types.ts";
import { readApp, type Snapshot } from "../../src/scheduler/state/state.ts";
import type { SchedulerApp } from "../../src/scheduler/types.ts";
import { ncapp, snapshotOf } from "../../test/scheduler/sample-cluster.ts";
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
  const spread = Object.entries(spreadRules).map(([name, rules]): Figure => {
    say(`${spreadNodes} nodes, ${name}`);
    const { decisions, cpuMs, placed } = decideSpread(rules);
    return {
      figure: `scheduler, ${spreadNodes} nodes, ${name}`,
      ours: decisions / cpuMs * 1000,
      unit: "decisions/s",
      better: "higher",
      note: `${Math.round(placed / decisions * 100)}% placed`,
    };
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
    ...spread,
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

const spreadNodes = 5000;
const appsPerSet = 100;
const host = "kubernetes.io/hostname";
const zone = "topology.kubernetes.io/zone";

/** The spec of an app that is spread with those that the selector matches. */
const spreadRules: Record<string, (labelSelector: LabelSelector) => NCAppSpec> = {
  "sets spread by default": () => ({}),
  "zones with maxSkew": (labelSelector) => constraint(zone, labelSelector),
  "hosts with maxSkew": (labelSelector) => constraint(host, labelSelector),
  "anti-affinity": (labelSelector) => ({
    affinity: {
      appAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: host, labelSelector }],
      },
    },
  }),
};

function constraint(topologyKey: string, labelSelector: LabelSelector): NCAppSpec {
  const whenUnsatisfiable = "DoNotSchedule";
  return { topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable, labelSelector }] };
}

function decideSpread(rules: (labelSelector: LabelSelector) => NCAppSpec): Tally {
  const labels = (at: number) => ({ [host]: `n${at}`, [zone]: `z${at % 3}` });
  const names = Array.from({ length: spreadNodes }, (_, at) => [`n${at}`, { labels: labels(at) }]);
  const apps = Array.from({ length: spreadNodes * appsPerNode }, (_, at) => {
    const set = `set-${Math.floor(at / appsPerSet)}`;
    const ownerReferences = [{ apiVersion, kind: setKind, name: set, uid: set, controller: true }];
    const spec = { cpuPCT: "5", memPCT: "5", ...rules({ matchLabels: { app: set } }) };
    return readApp(ncapp(`app-${at}`, spec, undefined, { labels: { app: set }, ownerReferences } as object));
  });
  const tally: Tally = { decisions: 0, placed: 0, examined: 0, cpuMs: 0 };
  decide(tally, snapshotOf(Object.fromEntries(names)), apps, 1);
  return tally;
}

function fill(tally: Tally, nodes: number, seed: number): void {
  decide(tally, mixedNodes(nodes, seed), mixedApps(nodes * appsPerNode, seed + 1), seed);
}

function decide(tally: Tally, snapshot: Snapshot, apps: SchedulerApp[], seed: number): void {
  const nodes = snapshot.nodes.length;
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

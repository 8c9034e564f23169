/** Clusters in all shapes: zones, disks, taints, reserves, loads, and apps with every kind of rule. For properties and benchmarks. */
import fc from "fast-check";
import type { NCAppSpec } from "../../src/api/types.ts";
import { Snapshot } from "../../src/scheduler/state/state.ts";
import type { AgentState, SchedulerApp, Taint } from "../../src/scheduler/types.ts";
import { mostly } from "../properties.ts";
import { app, facts, report } from "./sample-cluster.ts";

export interface NodeShape {
  disk: string;
  taints: Taint[];
  ready: boolean;
  cordoned: boolean;
  agent: AgentState;
  report?: { reserved: number; cpu: number; mem: number; at: number };
}

/** Most nodes take apps; a few take nothing. */
export const nodeShape: fc.Arbitrary<NodeShape> = fc.record({
  disk: mostly("hdd", 30, fc.constant("ssd")),
  taints: mostly<Taint[]>(
    [],
    10,
    fc.constantFrom(
      [{ key: "dedicated", value: "batch", effect: "NoSchedule" }],
      [{ key: "old", effect: "PreferNoSchedule" }],
    ),
  ),
  ready: mostly(true, 1, fc.constant(false)),
  cordoned: mostly(false, 2, fc.constant(true)),
  agent: mostly<AgentState>("fresh", 2, fc.constantFrom("none", "stale")),
  report: mostly<NodeShape["report"]>(
    undefined,
    80,
    fc.record({
      reserved: fc.constantFrom(0, 10_000),
      cpu: fc.nat(59_999),
      mem: fc.nat(59_999),
      at: mostly(0, 10, fc.constant(-1e9)),
    }),
  ),
});

export interface AppShape {
  caps?: { cpu: number; mem: number };
  rule: NCAppSpec;
  priority: number;
}

/** Most apps have caps alone; some have selectors, affinity, tolerations, ports, priorities, or no cap. */
export const appShape: fc.Arbitrary<AppShape> = fc.record({
  caps: mostly<AppShape["caps"]>(
    undefined,
    95,
    fc.record({ cpu: fc.constantFrom(1, 2, 2.5, 5, 5, 10, 20), mem: fc.constantFrom(1, 2, 4, 5, 5, 10, 15) }),
  ),
  rule: fc.oneof<fc.WeightedArbitrary<NCAppSpec>[]>(
    { withCrossShrink: true },
    { weight: 65, arbitrary: fc.constant({}) },
    { weight: 15, arbitrary: fc.nat(9).map((zone) => ({ nodeSelector: { zone: `z${zone}` } })) },
    {
      weight: 10,
      arbitrary: fc.tuple(fc.constantFrom("ssd", "hdd"), fc.constantFrom("z1", "z2", "z3")).map(affinityOf),
    },
    { weight: 5, arbitrary: fc.constant({ tolerations: [{ key: "dedicated", operator: "Exists" }] }) },
    {
      weight: 5,
      arbitrary: fc.constantFrom(80, 443, 5432, 6379, 8080).map((port) => ({ ports: [{ port }] })),
    },
  ),
  priority: fc.constantFrom(0, 0, 0, 10, 100),
});

export function nodesOf(shapes: readonly NodeShape[]): Snapshot {
  const snapshot = new Snapshot();
  for (const [at, { disk, taints, ready, cordoned, agent, report: reported }] of shapes.entries()) {
    const name = `node-${at}`;
    const labels = { zone: `z${at % 10}`, disk, rank: `${at % 100}` };
    snapshot.setNode(name, facts({ labels, taints, ready, cordoned }));
    snapshot.setAgent(name, agent);
    if (!reported) continue;
    const { reserved, ...load } = reported;
    snapshot.setReport(name, report({ reservedCpu: reserved, reservedMem: reserved, ...load }));
  }
  return snapshot;
}

/** The apps, in order of their age; `scale` multiplies their caps. */
export function appsOf(shapes: readonly AppShape[], scale = 1): SchedulerApp[] {
  return shapes.map(({ caps, rule, priority }, at) => {
    const limits = caps && { cpuPCT: String(caps.cpu * scale), memPCT: String(caps.mem * scale) };
    return app(`app-${at}`, { ...limits, ...rule }, { priority, createdAt: at });
  });
}

/** The same nodes for the same seed. */
export function mixedNodes(count: number, seed: number): Snapshot {
  return nodesOf(fc.sample(nodeShape, { numRuns: count, seed, unbiased: true }));
}

/** The same apps for the same seed. */
export function mixedApps(count: number, seed: number): SchedulerApp[] {
  return appsOf(fc.sample(appShape, { numRuns: count, seed, unbiased: true }));
}

function affinityOf([disk, zone]: [disk: string, zone: string]): NCAppSpec {
  return {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "In", values: [disk] }] }],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [{
          weight: 50,
          preference: { matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] },
        }],
      },
    },
  };
}

/** Made-up clusters for tests and benchmarks: nodes and apps in all shapes, the same for the same seed. */
import type { NCApp, NCAppSpec, NCAppStatus } from "../../src/api/types.ts";
import { readApp } from "../../src/scheduler/state/read-app.ts";
import { seededRandom } from "../../src/scheduler/place/choose-node.ts";
import { Snapshot } from "../../src/scheduler/state/snapshot.ts";
import type { NodeProperties, NodeReport, SchedulerApp } from "../../src/scheduler/types.ts";
import { ncapp as buildApp } from "../builders.ts";

/** A Node that takes apps, except for the given fields. */
export function facts(given: Partial<NodeProperties> = {}): NodeProperties {
  return { labels: {}, taints: [], ready: true, cordoned: false, pressures: [], ...given };
}

/** An agent's report about an idle node, except for the given fields. */
export function report(given: Partial<NodeReport> = {}): NodeReport {
  const { reservedCpu = 0, reservedMem = 0 } = given;
  return {
    at: 0,
    cpu: 0,
    mem: 0,
    reservedCpu,
    reservedMem,
    freeCpu: 100_000 - reservedCpu,
    freeMem: 100_000 - reservedMem,
    pressures: [],
    ...given,
  };
}

let version = 1;

/** An NCApp as the API server returns it, each with a later resourceVersion. */
export function ncapp(
  name: string,
  spec?: NCAppSpec,
  status?: NCAppStatus,
  metadata?: Partial<NCApp["metadata"]>,
): NCApp {
  const generated = { resourceVersion: `${++version}`, creationTimestamp: "2026-01-01T00:00:00Z" };
  return buildApp({ metadata: { name, ...generated, ...metadata }, spec, status });
}

/** The same, as the scheduler keeps it. */
export function app(name: string, spec: NCAppSpec = {}, given: Partial<SchedulerApp> = {}): SchedulerApp {
  return { ...readApp(ncapp(name, spec)), ...given };
}

/** Nodes that are up, each with these facts. */
export function snapshotOf(nodes: Record<string, Partial<NodeProperties>>): Snapshot {
  const snapshot = new Snapshot();
  for (const [name, given] of Object.entries(nodes)) {
    snapshot.setNode(name, facts(given));
    snapshot.setAgent(name, "fresh");
  }
  return snapshot;
}

/** A cluster of many shapes: zones, disks, taints, reserves, loads; a few nodes that take nothing. */
export function mixedNodes(count: number, seed: number): Snapshot {
  const random = seededRandom(seed);
  const snapshot = new Snapshot();
  for (let at = 0; at < count; at++) {
    const name = `node-${at}`;
    const labels: Record<string, string> = {
      zone: `z${at % 10}`,
      disk: random() < 0.3 ? "ssd" : "hdd",
      rank: `${at % 100}`,
    };
    const taints = random() < 0.05
      ? [{ key: "dedicated", value: "batch", effect: "NoSchedule" }]
      : random() < 0.05
      ? [{ key: "old", effect: "PreferNoSchedule" }]
      : [];
    snapshot.setNode(name, facts({ labels, taints, ready: random() >= 0.01, cordoned: random() < 0.02 }));
    const state = random();
    snapshot.setAgent(name, state < 0.01 ? "none" : state < 0.02 ? "stale" : "fresh");
    if (random() < 0.8) {
      const reserved = random() < 0.5 ? 10_000 : 0;
      snapshot.setReport(
        name,
        report({
          reservedCpu: reserved,
          reservedMem: reserved,
          cpu: Math.floor(random() * 60_000),
          mem: Math.floor(random() * 60_000),
          at: random() < 0.9 ? 0 : -1e9,
        }),
      );
    }
  }
  return snapshot;
}

/** Apps of many shapes: most with caps alone, some with selectors, affinity, tolerations, ports, priorities, or no cap. */
export function mixedApps(count: number, seed: number, scale = 1): SchedulerApp[] {
  const random = seededRandom(seed);
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)]!;
  return Array.from({ length: count }, (_, at) => {
    const kind = random();
    const spec: NCAppSpec = random() < 0.05 ? {} : {
      cpuPCT: String(pick([1, 2, 2.5, 5, 5, 10, 20]) * scale),
      memPCT: String(pick([1, 2, 4, 5, 5, 10, 15]) * scale),
    };
    if (kind < 0.15) spec.nodeSelector = { zone: `z${Math.floor(random() * 10)}` };
    else if (kind < 0.25) spec.affinity = affinityOf(pick(["ssd", "hdd"]), pick(["z1", "z2", "z3"]));
    else if (kind < 0.3) spec.tolerations = [{ key: "dedicated", operator: "Exists" }];
    else if (kind < 0.35) spec.ports = [{ port: pick([80, 443, 5432, 6379, 8080]) }];
    const priority = pick([0, 0, 0, 10, 100]);
    return app(`app-${at}`, spec, { priority, createdAt: at });
  });
}

function affinityOf(disk: string, zone: string): NonNullable<NCAppSpec["affinity"]> {
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "In", values: [disk] }] }],
      },
      preferredDuringSchedulingIgnoredDuringExecution: [{
        weight: 50,
        preference: { matchExpressions: [{ key: "zone", operator: "In", values: [zone] }] },
      }],
    },
  };
}

/** Nodes and apps for tests: usual ones, except for the given fields. */
import type { NCApp, NCAppSpec, NCAppStatus } from "../../src/api/types.ts";
import { readApp, Snapshot } from "../../src/scheduler/state/state.ts";
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

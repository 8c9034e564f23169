import type { NCApp, NCAppSpec, NCAppStatus } from "../../src/api/types.ts";
import type { ClusterEvent } from "../../src/scheduler/types.ts";
import { ClusterState } from "../../src/scheduler/state/state.ts";
import { ncapp } from "./sample-cluster.ts";
import { lease, node } from "./objects.ts";

/** A cluster that is told by hand, and what it said to its listener. */
export function createTestCluster(nodes: string[] = []) {
  /** `corrected`: by how much the machine's clock was set, forward or back. */
  const clock = { now: Date.parse("2026-01-01T00:00:00Z"), corrected: 0 };
  const cluster = new ClusterState({
    schedulerName: "nc-scheduler",
    clocks: () => ({ watched: clock.now, wall: clock.now + clock.corrected }),
    steady: () => clock.now,
  });
  const said: string[] = [];
  const happened: [ClusterEvent, string][] = [];
  cluster.listener = {
    waits: ({ key }, changed) => said.push(`${key} waits${changed ? " anew" : ""}`),
    settled: (key) => said.push(`${key} settled`),
    happened: (event, subject) => happened.push([event, subject]),
  };
  const beat = (name: string, report?: Parameters<typeof lease>[2]) =>
    cluster.liveness.applyLease(lease(name, clock.now, report));
  for (const name of nodes) {
    cluster.applyNode(node(name));
    beat(name);
  }
  const apply = (name: string, spec: NCAppSpec = {}, status?: NCAppStatus): NCApp => {
    const object = ncapp(name, spec, status);
    cluster.applyApp(object);
    return object;
  };
  const takeSaid = () => said.splice(0);
  const takeHappened = () => happened.splice(0).map(([event, subject]) => `${event} ${subject}`);
  return { cluster, clock, beat, apply, takeSaid, takeHappened };
}

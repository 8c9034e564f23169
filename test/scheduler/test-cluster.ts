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
    clocks: () => ({ observed: clock.now, wall: clock.now + clock.corrected }),
    steady: () => clock.now,
  });
  const calls: string[] = [];
  const events: [ClusterEvent, string][] = [];
  cluster.listener = {
    onWaiting: ({ key }, changed) => calls.push(`${key} waits${changed ? ", changed" : ""}`),
    onSettled: (key) => calls.push(`${key} settled`),
    onEvent: (event, subject) => events.push([event, subject]),
  };
  const beat = (name: string, report?: Parameters<typeof lease>[2]) =>
    cluster.liveness.applyLease(lease(name, clock.now, report));
  for (const name of nodes) {
    cluster.applyNode(node(name));
    beat(name);
  }
  const apply = (name: string, spec: NCAppSpec = {}, status?: NCAppStatus): NCApp => {
    const object = ncapp(name, spec, status);
    cluster.apps.apply(object);
    return object;
  };
  const takeCalls = () => calls.splice(0);
  const takeEvents = () => events.splice(0).map(([event, subject]) => `${event} ${subject}`);
  return { cluster, clock, beat, apply, takeCalls, takeEvents };
}

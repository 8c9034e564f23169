import type { Invariant } from "../evidence.ts";

/** Every agent says of itself that all is well: its sources are followed and its disks have room. */
export const agentsReady: Invariant = {
  name: "every agent is ready",
  judge: ({ nodes }) =>
    nodes.filter(({ readiness }) => readiness !== "ok").map(({ name, readiness }) =>
      `the agent of ${name} is not ready: ${readiness}`
    ),
};

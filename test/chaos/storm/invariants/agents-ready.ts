import type { Invariant } from "../evidence.ts";

/** Every agent reports that it is ready: it follows its sources, and its disks have space. */
export const agentsReady: Invariant = {
  name: "every agent is ready",
  judge: ({ nodes }) =>
    nodes.filter(({ readiness }) => readiness !== "ok").map(({ name, readiness }) =>
      `the agent of ${name} is not ready: ${readiness}`
    ),
};

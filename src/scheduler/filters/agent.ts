import type { NodeFilter } from "./filter.ts";

/** The node's agent must be there to start the app. */
export const agent: NodeFilter = {
  kind: "node",
  name: "agent",
  passes: (_, node) => node.agent === "fresh",
  why: (_, node) => node.agent === "none" ? "no agent" : "agent lost",
};

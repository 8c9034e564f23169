import { leastForSpreading, wholeNode } from "../points.ts";
import type { LoadScore } from "./score.ts";

/** How much is free once the app is there, or under binpack how much is taken: the mean of CPU and memory. */
export const allocated: LoadScore = {
  kind: "load",
  name: "allocated",
  weights: { spread: 1, binpack: 2 },
  score(app, node, { policy }) {
    const cpu = node.spreadCpu + (app.cpu || leastForSpreading);
    const mem = node.spreadMem + (app.mem || leastForSpreading);
    const taken = Math.min(100, (cpu + mem) * (50 / wholeNode));
    return policy === "binpack" ? taken : 100 - taken;
  },
};

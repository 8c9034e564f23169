import { leastForSpreading, wholeNode } from "../points.ts";
import type { LoadScore } from "./score.ts";

/** How much is free once the app is there, or under binpack how much is taken: the mean of CPU and memory. */
export const allocated: LoadScore = {
  kind: "load",
  name: "allocated",
  weights: { spread: 2, binpack: 4 },
  score(app, node, { policy }) {
    const cpu = node.spreadCpu + (app.cpu || leastForSpreading);
    const mem = node.spreadMem + (app.mem || leastForSpreading);
    const taken = Math.min(wholeNode, (cpu + mem) >> 1);
    return policy === "binpack" ? taken : wholeNode - taken;
  },
};

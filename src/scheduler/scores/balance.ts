import { leastForSpreading, wholeNode } from "../points.ts";
import type { LoadScore } from "./score.ts";

/** CPU and memory should run out together, so that neither is left over on a node where the other is gone. */
export const balance: LoadScore = {
  kind: "load",
  name: "balance",
  weights: { spread: 2, binpack: 2 },
  score(app, node) {
    const cpu = node.spreadCpu + (app.cpu || leastForSpreading);
    const mem = node.spreadMem + (app.mem || leastForSpreading);
    return Math.max(0, wholeNode - Math.abs(cpu - mem));
  },
};

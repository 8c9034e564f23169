import { matchesTerm } from "../node-selector.ts";
import { wholeNode } from "../points.ts";
import type { NodeScore } from "./score.ts";

/** The share of the app's preferences, by weight, that the node meets. */
export const preferredAffinity: NodeScore = {
  kind: "node",
  name: "affinity",
  weights: { spread: 4, binpack: 4 },
  score({ preferred }, { facts, name }) {
    let [met, all] = [0, 0];
    for (const { weight, preference } of preferred) {
      all += weight;
      if (matchesTerm(preference, facts.labels, name)) met += weight;
    }
    return all === 0 ? 0 : Math.floor(met / all * wholeNode);
  },
};

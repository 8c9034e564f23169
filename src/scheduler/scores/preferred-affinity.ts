import { matchesTerm } from "../node-selector.ts";
import type { NodeScore } from "./score.ts";

/** The share of the app's preferences, by weight, that the node meets. */
export const preferredAffinity: NodeScore = {
  kind: "node",
  name: "affinity",
  weights: { spread: 2, binpack: 2 },
  score({ preferred }, { facts, name }) {
    let [met, all] = [0, 0];
    for (const { weight, preference } of preferred) {
      all += weight;
      if (matchesTerm(preference, facts.labels, name)) met += weight;
    }
    return all === 0 ? 0 : met / all * 100;
  },
};

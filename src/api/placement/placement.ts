/**
 * Where an app may run: what the scheduler and NCAppSets decide by. Pure.
 *
 * `read-node.ts` reads Nodes, `node-selector.ts` matches labels and names, `tolerations.ts` taints, and `node-fit.ts` combines them.
 */
export {
  acceptsNew,
  choosesNode,
  hasLabels,
  keepsOld,
  toleratesCondition,
  untoleratedPressure,
  untoleratedTaint,
} from "./node-fit.ts";
export { matchesAny, matchesTerm } from "./node-selector.ts";
export { type NodeProperties, readNode } from "./read-node.ts";
export {
  evicts,
  firstEviction,
  formatTaint,
  type Taint,
  tolerates,
  tolerationMs,
  unreachableKeys,
} from "./tolerations.ts";

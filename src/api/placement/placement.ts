/**
 * Where an app may run: what the scheduler and NCAppSets decide by. Pure.
 *
 * `read-node.ts` reads Nodes, `node-selector.ts` matches labels and names, `tolerations.ts` taints, and `node-fit.ts` combines them.
 * `movable.ts` says which apps a drain moves, `budgets.ts` how many at a time.
 */
export { type Budget, covers, disruptionsLeft, maxUnavailableOf, noticeMs, readBudget } from "./budgets.ts";
export {
  acceptsNew,
  choosesNode,
  hasLabels,
  keepsOld,
  toleratesCondition,
  untoleratedPressure,
  untoleratedTaint,
} from "./node-fit.ts";
export { hasEnded, isBinder, type ManagedFields, managersOf, pinnedBy, whyStays } from "./movable.ts";
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

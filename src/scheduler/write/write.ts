/**
 * What the scheduler writes to the API server.
 *
 * - The loop decides where an app runs; `binder` sends that bind, several at a time, and keeps the cluster state right after any answer.
 * - `evict` unbinds apps, for preemption, lost nodes and taints, and `disruptions` those whose Pods were evicted. All use the conditional requests in `app-writes`.
 * - `status-writer` writes conditions and phases into the status of apps; `status-patch` computes them.
 * - `deferred-work` delays reports of successful binds until the binds are sent: their events a little, their status longer, because the
 *   node's agent usually reports it first.
 * - `finalizer-writer` keeps deleted apps until they have stopped, by a finalizer, and frees apps from nodes that are lost or gone.
 * - `pod-release` deletes the Pods that lost nodes have left.
 * - `quota-writer` keeps `status.used` of ResourceQuotas right; `rule-reporter` reports bound apps that break a rule of their namespace.
 *
 * Every write is conditional on the version that it is based on, so a second scheduler cannot do harm.
 */
export { createAppWrites } from "./app-writes.ts";
export { type Binder, createBinder } from "./binder.ts";
export type { LeaderContext } from "./context.ts";
export { createDeferredWork } from "./deferred-work.ts";
export { createDisruptions } from "./disruptions.ts";
export { createEvictor, type Evictor } from "./evict.ts";
export { createFinalizerWriter } from "./finalizer-writer.ts";
export { createPodRelease } from "./pod-release.ts";
export { createQuotaWriter } from "./quota-writer.ts";
export { createRuleReporter } from "./rule-reporter.ts";
export { createStatusWriter, type StatusWriter } from "./status-writer.ts";

/** What the scheduler writes to the API server: binds, evictions, the status of apps, used quotas and events. */
export { type Binder, createBinder } from "./binder.ts";
export { createLate } from "./deferred.ts";
export { eventTarget } from "./event-target.ts";
export { createEvictor, type Evictor } from "./evict.ts";
export { createQuotaKeeper } from "./quota-keeper.ts";
export { createStatusWriter, type StatusWriter } from "./status-writer.ts";

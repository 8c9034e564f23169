/**
 * Filters decide whether a node can run an app at all.
 *
 * They are evaluated in order; what no decision can change comes first, so that a message names the root cause. `nodeFilters` read the
 * node itself and are cached, `loadFilters` read what is bound to it, or the time. To add a filter, add an entry to node-filters.ts or
 * load-filters.ts; its `helpedBy` names the events after which apps that it refused are tried again.
 */
import type { Filter } from "./filter.ts";
import { loadFilters } from "./load-filters.ts";
import { nodeFilters } from "./node-filters.ts";

export type { Filter } from "./filter.ts";
export { loadFilters, nodeFilters };

export const filters: readonly Filter[] = [...nodeFilters, ...loadFilters];

/**
 * All filters, in the order in which they are asked: what no decision can change first, so that a message names the reason behind
 * the others. A new filter is a file in filters/ and a line here; what could change its mind stands in helps.ts.
 */
import { agent } from "./agent.ts";
import { cordoned } from "./cordoned.ts";
import { cpu } from "./cpu.ts";
import type { Filter, LoadFilter, NodeFilter } from "./filter.ts";
import { memory } from "./memory.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeSelector } from "./node-selector.ts";
import { ports } from "./ports.ts";
import { pressure } from "./pressure.ts";
import { ready } from "./ready.ts";
import { taints } from "./taints.ts";

export type { Filter } from "./filter.ts";

export const nodeFilters: readonly NodeFilter[] = [
  agent,
  ready,
  cordoned,
  pressure,
  taints,
  nodeSelector,
  nodeAffinity,
];

export const loadFilters: readonly LoadFilter[] = [ports, cpu, memory];

export const filters: readonly Filter[] = [...nodeFilters, ...loadFilters];

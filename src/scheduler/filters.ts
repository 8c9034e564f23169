/**
 * All filters, in the order in which they are asked: what no decision can change first, so that a message names the reason behind
 * the others. A new filter is a file in filters/ and a line here; what could change its mind stands in helps.ts.
 */
import { agent } from "./filters/agent.ts";
import { cordoned } from "./filters/cordoned.ts";
import { cpu } from "./filters/cpu.ts";
import type { Filter, LoadFilter, NodeFilter } from "./filters/filter.ts";
import { memory } from "./filters/memory.ts";
import { nodeAffinity } from "./filters/node-affinity.ts";
import { nodeSelector } from "./filters/node-selector.ts";
import { ports } from "./filters/ports.ts";
import { pressure } from "./filters/pressure.ts";
import { ready } from "./filters/ready.ts";
import { taints } from "./filters/taints.ts";

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

/** Which apps top lists, and in which order. Pure. */
import { keyOf } from "../../api/names.ts";
import type { NodeApp } from "../agent-api/agent-api.ts";
import { byUsage, stateColor } from "../screen/screen.ts";

export interface Order {
  by: OrderName;
  reverse: boolean;
}

interface OrderRule {
  key: string;
  /** The title of its column. */
  title: string;
  compare(a: NodeApp, b: NodeApp): number;
}

/** Every order starts with what a reader looks for: high usage, what is wrong, what started last. */
export const orders = {
  CPU: { key: "c", title: "CPU", compare: byUsage },
  memory: { key: "m", title: "MEM", compare: highest(({ status }) => status?.memoryBytes ?? -1) },
  name: { key: "n", title: "APP", compare: byName },
  phase: { key: "p", title: "PHASE", compare: highest(urgency) },
  restarts: { key: "t", title: "RESTARTS", compare: highest(({ status }) => status?.restarts ?? 0) },
  age: { key: "a", title: "AGE", compare: highest(({ status }) => Date.parse(status?.startTime ?? "") || 0) },
} satisfies Record<string, OrderRule>;

export type OrderName = keyof typeof orders;

export const orderNames = Object.keys(orders) as OrderName[];

/** Returns the apps that match every word of the filter, in order. */
export function shownApps(apps: NodeApp[], filter: string, { by, reverse }: Order): NodeApp[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = apps.filter(({ metadata, spec, status }) => {
    const text = [keyOf({ metadata }), status?.phase, status?.reason, spec.nodeName].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const sorted = found.sort(orders[by].compare);
  return reverse ? sorted.reverse() : sorted;
}

function highest(value: (app: NodeApp) => number) {
  return (a: NodeApp, b: NodeApp) => value(b) - value(a) || byName(a, b);
}

function byName(a: NodeApp, b: NodeApp): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

/** Apps that need their user come first, those that are fine last. */
function urgency({ status = {} }: NodeApp): number {
  return ["green", "yellow", "red"].indexOf(stateColor(status));
}

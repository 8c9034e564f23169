import type { Taint } from "./tolerations.ts";

/** What a Node says about which apps it accepts. */
export interface NodeProperties {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly ready: boolean;
  readonly cordoned: boolean;
  /** `memory`, `disk` or `pid`: what its kubelet reports to be short. */
  readonly pressures: readonly string[];
}

/** The fields of a Node object that count. */
interface NodeObject {
  metadata?: { labels?: Record<string, string> };
  spec?: { taints?: NodeTaint[]; unschedulable?: boolean };
  status?: { conditions?: { type: string; status: string }[] };
}

const pressures = { MemoryPressure: "memory", DiskPressure: "disk", PIDPressure: "pid" };

/** Reads a Node. A NoExecute taint without `timeAdded` counts from when it was first seen, as in `known`. */
export function readNode(node: NodeObject, known: readonly Taint[], now: number): NodeProperties {
  const conditions = node.status?.conditions ?? [];
  const isTrue = (condition: string) =>
    conditions.some(({ type, status }) => type === condition && status === "True");
  // A Node may have thousands of taints.
  const before = new Map(known.map((taint) => [idOf(taint), taint]));
  return {
    labels: node.metadata?.labels ?? {},
    taints: (node.spec?.taints ?? []).map((taint) => readTaint(taint, before, now)),
    ready: isTrue("Ready"),
    cordoned: node.spec?.unschedulable ?? false,
    pressures: Object.entries(pressures).filter(([type]) => isTrue(type)).map(([, resource]) => resource),
  };
}

interface NodeTaint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

function readTaint(
  { key, value, effect, timeAdded }: NodeTaint,
  known: ReadonlyMap<string, Taint>,
  now: number,
): Taint {
  const plain = { key, ...(value ? { value } : {}), effect };
  if (effect !== "NoExecute") return plain;
  const before = known.get(idOf(plain));
  return { ...plain, since: Date.parse(timeAdded ?? "") || before?.since || now };
}

/** JSON takes values of any type, as the server of another maker might send them. */
function idOf({ key, effect }: Pick<Taint, "key" | "effect">): string {
  return JSON.stringify([key, effect]);
}

/**
 * Which apps of a rollout move to another node: a set that a drain or a lost node left uneven is spread again by its own rollouts, when
 * its apps restart anyway: over nodes, and as far as that stays even, over zones. The scheduler chooses the node in the same order.
 */
import { acceptsNew, choosesNode } from "../../api/placement/placement.ts";
import type { App, Revision, World } from "../types.ts";
import type { Slot } from "./slots.ts";

const zoneLabel = "topology.kubernetes.io/zone";

/** Returns a function that is asked once for each app that restarts, and counts those that it moves. */
export function createMoves(
  { nodes }: World,
  slots: readonly Slot[],
  { data }: Revision,
): (app: App) => boolean {
  const counts = new Map<string, number>();
  for (const { name, agent, properties } of nodes.values()) {
    const isFree = agent === "fresh" && choosesNode(data!.spec, name, properties) &&
      acceptsNew(data!.spec, properties);
    if (isFree) counts.set(name, 0);
  }
  const free = new Set(counts.keys());
  const zoneOf = (name: string) => nodes.get(name)?.properties.labels[zoneLabel];
  const zones = new Map<string | undefined, number>();
  const count = (name: string, change: number) => {
    counts.set(name, (counts.get(name) ?? 0) + change);
    zones.set(zoneOf(name), inZone(name) + change);
  };
  /** Apps in the zone of a node. */
  const inZone = (name: string) => zones.get(zoneOf(name)) ?? 0;
  let unplaced = 0;
  for (const { app: { spec: { nodeName } }, deleting } of slots) {
    if (deleting) continue;
    if (nodeName) count(nodeName, 1);
    else unplaced++;
  }
  const leastOf = () => {
    let least: string | undefined;
    for (const name of free) {
      const isLess = least === undefined || counts.get(name)! < counts.get(least)! ||
        counts.get(name) === counts.get(least) && inZone(name) < inZone(least);
      if (isLess) least = name;
    }
    return least;
  };
  // Apps that have no node yet go to the nodes with the fewest.
  const expected = Math.ceil(unplaced / Math.max(1, free.size));
  return ({ spec: { nodeName } }) => {
    const least = leastOf();
    const here = counts.get(nodeName ?? "");
    if (!nodeName || least === undefined || here === undefined) return false;
    const more = here - counts.get(least)! - expected;
    // To swap a node that has one more for one that has one less changes nothing but the zones.
    const evensZones = more === 1 && expected === 0 && zoneOf(nodeName) !== undefined &&
      zoneOf(least) !== undefined && inZone(nodeName) - inZone(least) >= 2;
    if (more < 2 && !evensZones) return false;
    count(nodeName, -1);
    count(least, 1);
    return true;
  };
}

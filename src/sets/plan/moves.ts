/**
 * Which apps of a rollout move to another node: a set that a drain or a lost node left uneven is spread again by its own rollouts, when
 * its apps restart anyway. The scheduler chooses the node.
 */
import { acceptsNew, choosesNode } from "../../api/placement/placement.ts";
import type { App, Revision, World } from "../types.ts";
import type { Slot } from "./slots.ts";

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
  let unplaced = 0;
  for (const { app: { spec: { nodeName } }, deleting } of slots) {
    if (deleting) continue;
    if (nodeName) counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1);
    else unplaced++;
  }
  const leastOf = () => {
    let least: string | undefined;
    for (const name of free) if (least === undefined || counts.get(name)! < counts.get(least)!) least = name;
    return least;
  };
  // Apps that have no node yet go to the nodes with the fewest.
  const expected = Math.ceil(unplaced / Math.max(1, free.size));
  return ({ spec: { nodeName } }) => {
    const least = leastOf();
    const here = counts.get(nodeName ?? "");
    if (!nodeName || least === undefined || here === undefined || here - counts.get(least)! - expected < 2) {
      return false;
    }
    counts.set(nodeName, here - 1);
    counts.set(least, counts.get(least)! + 1);
    return true;
  };
}

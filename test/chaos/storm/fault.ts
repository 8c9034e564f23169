/** What a fault is, and what it may lay hands on. */
import type { EventRing } from "./events.ts";
import type { Random } from "./random.ts";
import type { Workload } from "./workload.ts";
import type { World } from "./world.ts";

export interface Storm {
  stormId: string;
  world: World;
  workload: Workload;
  events: EventRing;
  /** The nodes whose logs' disk was full at some time. */
  filledLogs: Set<string>;
}

export interface Fault {
  name: string;
  /** How often it is in the deck. */
  weight: number;
  /** Why it cannot be tried in this world. */
  impossible?(world: World): string | undefined;
  /**
   * Does the damage, and undoes it before it resolves. All choices come from `random`, and are said to `tell` before anything is
   * done, so that the report shows what was under way.
   */
  run(storm: Storm, random: Random, tell: (what: string) => void): Promise<void>;
}

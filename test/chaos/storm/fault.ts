/** The shape of a fault, and what it may act on. */
import type { EventRing } from "./events.ts";
import type { Fleet } from "./fleet.ts";
import type { Random } from "../../random.ts";
import type { Workload } from "./workload.ts";
import type { World } from "./world.ts";

export interface Storm {
  stormId: string;
  world: World;
  workload: Workload;
  fleet: Fleet;
  events: EventRing;
  /** The nodes whose log disk was ever full. */
  filledLogs: Set<string>;
}

export interface Fault {
  name: string;
  /** How often it comes per deal. */
  weight: number;
  /** Why it cannot run in this environment. */
  impossible?(world: World): string | undefined;
  /**
   * Does the damage, and undoes it before it resolves. All choices come from `random`, and go to `tell` before they have
   * an effect, so that the report shows what was happening.
   */
  run(storm: Storm, random: Random, tell: (what: string) => void): Promise<void>;
}

/** One of the controllers that `nckubelet controller` runs behind one election. */
import type { Leadership } from "./leader.ts";

export interface Controller {
  readonly name: string;
  /** Follows the cluster until the signal aborts, on standbys too, so that a new leader can work at once. */
  follow(signal: AbortSignal): Promise<void>;
  /** Works while this process leads; ends with the leadership. */
  lead(leadership: Leadership): Promise<void>;
  /** What it follows, for /readyz: each list with its readiness. */
  followers(): readonly FollowerState[];
  /** Its metrics in the Prometheus text format. */
  metrics(): Promise<string>;
  /** Its fields of /status; no two controllers have the same. */
  status?(): Record<string, unknown>;
}

export interface FollowerState {
  name: string;
  /** A complete list was received at least once. */
  listed: boolean;
  /** The watch is up to date, as far as the controller can know. */
  alive: boolean;
  message: string;
}

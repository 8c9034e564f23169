/** Who holds the agent's Lease: names this agent in it, and recognizes its own name. Pure. */

/** What distinguishes this agent from one with the same node name. */
export interface AgentIdentity {
  /** For users who look for the other machine. */
  host: string;
  /** Of the state folder; a copied disk has the same. */
  state: string;
  /** Of the running kernel and the process namespace: differs on every machine, and changes with a reboot. */
  boot: string;
  /** Of the agent's process. */
  process: string;
  /** Reports whether that process of this boot still runs. */
  isRunning: (process: string) => boolean;
}

/** Only the process changes when the agent restarts. */
export function holderName({ host, state, boot, process }: AgentIdentity): string {
  return [host, state, boot, process].join("_");
}

/**
 * Returns how long a Lease must stay unchanged before this agent may take it. Its times come from another clock: only changes
 * that this agent observes count.
 */
export function takeoverMs(
  holder: string | undefined,
  { identity: { state, boot, isRunning }, leaseMs, periodMs }: {
    identity: AgentIdentity;
    leaseMs: number;
    periodMs: number;
  },
): number {
  if (!holder) return 0;
  const [itsProcess = "", itsBoot, itsState] = holder.split("_").reverse();
  // Only one agent runs with a state folder.
  if (itsBoot === boot && (itsState === state || !isRunning(itsProcess))) return 0;
  // Written before the last reboot, or by a machine with a copy of this disk: that one renews it every period.
  return itsState === state ? Math.min(1.5 * periodMs, leaseMs) : leaseMs;
}

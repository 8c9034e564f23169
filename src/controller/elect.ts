/**
 * One election for several controllers: they all lead, or none does.
 *
 * Guarantees: a process leads while it holds the Lease of its first controller. Each other controller works only while the process
 * also holds the Lease of that controller, so no controller works in two processes, whichever controllers they were started with. If
 * one controller fails, the others end before the Lease is released.
 * Caveat: while a process with fewer controllers holds the Lease of a later one, the leader runs its other controllers and waits with
 * that one.
 */
import type { KubeClient } from "../kube/client/client.ts";
import type { Controller } from "../kube/controller.ts";
import { lead, type LeaderOptions, type Leadership } from "../kube/leader.ts";

export interface Elected {
  controller: Controller;
  lease: string;
}

export async function leadTogether(
  client: KubeClient,
  elected: readonly Elected[],
  options: Omit<LeaderOptions, "name" | "ended">,
  signal: AbortSignal,
  onTerm: (isLeading: boolean) => void = () => {},
): Promise<void> {
  const [first, ...others] = elected as [Elected, ...Elected[]];
  const work = async (leadership: Leadership) => {
    onTerm(true);
    // The predecessor worked only while it held the first Lease, which has expired: it cannot use the others any more.
    const election = { ...options, ended: leadership.predecessor };
    try {
      await workTogether([
        first.controller,
        ...others.map(({ controller, lease }) => ({
          name: controller.name,
          lead: (term: Leadership) =>
            lead(
              client,
              { ...election, name: lease },
              (own) => controller.lead(both(term, own)),
              term.signal,
            ),
        })),
      ], leadership);
    } finally {
      onTerm(false);
    }
  };
  await lead(client, { ...options, name: first.lease }, work, signal);
}

/** Leads with all of them until the leadership ends. One that ends earlier, or fails, ends them all. */
export async function workTogether(
  controllers: readonly Pick<Controller, "name" | "lead">[],
  { signal, isLeader, predecessor }: Leadership,
): Promise<void> {
  const failed = new AbortController();
  const term: Leadership = {
    signal: AbortSignal.any([signal, failed.signal]),
    isLeader: () => !failed.signal.aborted && isLeader(),
    predecessor,
  };
  const terms = controllers.map(async (controller) => {
    await controller.lead(term);
    if (!term.signal.aborted) throw new Error(`the controller ${controller.name} ended while it was leading`);
  });
  try {
    await Promise.all(terms);
  } finally {
    failed.abort();
    await Promise.allSettled(terms);
  }
}

function both(first: Leadership, second: Leadership): Leadership {
  return {
    signal: second.signal,
    isLeader: () => first.isLeader() && second.isLeader(),
    predecessor: second.predecessor,
  };
}

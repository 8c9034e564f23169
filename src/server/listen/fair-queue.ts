/**
 * Work of several peers, of which a few pieces run at once.
 *
 * Guarantees: peers take turns, however much one of them has. What runs and what waits is bounded, in all and for each peer; beyond
 * that, work of the peer with the most of it is dropped.
 */
export interface QueueBounds {
  inFlight: number;
  inFlightOfPeer: number;
  waiting: number;
  waitingOfPeer: number;
}

interface Job {
  start(): Promise<void>;
  drop(): void;
}

/** Returns a function that runs work when it is the peer's turn; it resolves to undefined if the work was dropped. */
export function createFairQueue(
  bounds: QueueBounds,
): <T>(peer: string, work: () => Promise<T>) => Promise<T | undefined> {
  /** In the order of their turns. */
  const queues = new Map<string, Job[]>();
  const running = new Map<string, number>();
  let [inFlight, waiting] = [0, 0];
  const count = (peer: string, by: 1 | -1) => {
    inFlight += by;
    const now = (running.get(peer) ?? 0) + by;
    if (now > 0) running.set(peer, now);
    else running.delete(peer);
  };
  const take = (peer: string, which: "shift" | "pop"): Job | undefined => {
    const jobs = queues.get(peer);
    const job = jobs?.[which]();
    if (job) waiting--;
    if (jobs?.length === 0) queues.delete(peer);
    return job;
  };
  const next = () => {
    while (inFlight < bounds.inFlight) {
      const peer = [...queues.keys()].find((each) => (running.get(each) ?? 0) < bounds.inFlightOfPeer);
      if (peer === undefined) return;
      const job = take(peer, "shift")!;
      const rest = queues.get(peer);
      // Its next turn comes after those of the others.
      if (queues.delete(peer)) queues.set(peer, rest!);
      count(peer, 1);
      void job.start().finally(() => {
        count(peer, -1);
        next();
      });
    }
  };
  return <T>(peer: string, work: () => Promise<T>) => {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    const jobs = queues.get(peer) ?? [];
    if (jobs.length >= bounds.waitingOfPeer) return Promise.resolve(undefined);
    jobs.push({ start: () => work().then(resolve, reject), drop: () => resolve(undefined) });
    queues.set(peer, jobs);
    waiting++;
    next();
    if (waiting > bounds.waiting) take(longest(queues), "pop")?.drop();
    return promise;
  };
}

function longest(queues: Map<string, Job[]>): string {
  const [first] = [...queues].sort(([, one], [, other]) => other.length - one.length);
  return first?.[0] ?? "";
}

/**
 * Follows a resource: a list, then a watch from there, for as long as the signal lives.
 *
 * Guarantees
 * - `listed` is a complete, valid list of one snapshot; who gets it may replace all he knew. Nothing else removes objects but
 *   `deleted`, which is certain: the server deleted the object, or it no longer passes `keep`.
 * - Events of one object come in the order in which the server made them; after a lost connection the watch goes on
 *   where it was, without a list. 410 Gone leads to exactly one list.
 * - `trouble` means that nothing may be concluded until the next event of another type.
 * - Every `relistMs` a whole list is compared again. If it fails, the watch goes on and the list is tried later.
 * - Unanswered requests do not pile up: one list or watch at a time, with growing pauses while nothing works. Where `answered`
 *   tells that the server is back, a long pause does not keep the follower from it.
 *
 * Caveats
 * - Objects may be reported as applied without a change (after a reconnect or a list): compare before acting.
 * - While a list is read, events wait; where the server cannot filter, a list of many thousands takes seconds.
 * - A server that forgot nothing but lies (a restored etcd) is noticed by the next list only.
 *
 * The machine is a step from a state to an event and the next state.
 */
import { sleep } from "../../lib/sleep.ts";
import type { KubeClient } from "../client/client.ts";
import { type FollowOptions, type WatchEvent, withDefaults } from "./watch-options.ts";
import { createSteps, type State, type Step, type Waiting } from "./watch-steps.ts";
import type { KubeObject } from "../wire.ts";

export { listAll } from "./list.ts";

export type { FollowOptions, RestartReason, WatchEvent } from "./watch-options.ts";

/** Yields what happens to the objects; returns when `signal` aborts. */
export async function* followList<T extends KubeObject>(
  client: KubeClient,
  options: FollowOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void> {
  const steps = createSteps(client, withDefaults(options), signal);
  let state: State = { at: "list" };
  try {
    while (!signal.aborted) {
      const { event, next }: Step<T> = await step(state);
      state = next;
      if (event && !signal.aborted) yield event;
    }
  } finally {
    if (state.at === "read") state.stream.stop();
  }

  async function step(state: State): Promise<Step<T>> {
    switch (state.at) {
      case "list":
        return await steps.list(state);
      case "open":
        return await steps.open(state);
      case "read":
        return await steps.read(state);
      case "wait":
        await wait(state, options, signal);
        return { next: state.then };
    }
  }
}

async function wait<T>(
  { ms, untilAnswered }: Waiting,
  { answered }: FollowOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  if (!untilAnswered || !answered) return await sleep(ms, signal);
  const early = new AbortController();
  const forget = answered(() => early.abort());
  await sleep(ms, AbortSignal.any([signal, early.signal]));
  forget();
}

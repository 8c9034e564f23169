/**
 * Follows a resource: a list, then a watch from there, until the signal aborts. With `streaming`, one request does both.
 *
 * Guarantees
 * - `listed` is a complete, valid list of one snapshot; the caller may replace all that it knew. Apart from that, only `deleted`
 *   removes objects, and it is certain: the server deleted the object, or the object no longer passes `filter`.
 * - Events of one object keep the server's order; after a lost connection the watch resumes where it was, without a list.
 *   410 Gone leads to exactly one list.
 * - After `problem` nothing may be concluded until the next event of another type.
 * - Every `relistMs` the whole list is read again. If that fails, the watch continues and the list is retried later.
 * - Unanswered requests do not pile up: one list or watch at a time, with growing pauses while nothing works. When `answered`
 *   reports that the server is back, the pause ends.
 *
 * Caveats
 * - Objects may be reported as applied without a change (after a reconnect or a list): compare before acting.
 * - While a list is read, events wait; if the server cannot filter, a list of many thousands takes seconds.
 * - A streaming list that breaks off removes nothing. If the server did not answer at all, the next list is read in pages too.
 * - A server that went back in time (a restored etcd) is noticed only by the next list.
 */
import { sleep } from "../../lib/sleep.ts";
import type { KubeClient } from "../client/client.ts";
import type { FollowOptions, WatchEvent } from "./watch-options.ts";
import { createSteps, type State, type Step, type Waiting } from "./watch-steps.ts";
import type { KubeObject } from "../wire.ts";

export { listAll } from "./list.ts";
export { streamList } from "./stream-list.ts";

export type { FollowOptions, RestartReason, WatchEvent } from "./watch-options.ts";

export async function* followList<T extends KubeObject>(
  client: KubeClient,
  options: FollowOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, void> {
  const steps = createSteps(client, options, signal);
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

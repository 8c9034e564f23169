import assert from "node:assert/strict";
import type { NCApp } from "../../src/api/types.ts";
import type { ClientOptions, KubeClient } from "../../src/kube/client/client.ts";
import { ncapps } from "../../src/kube/resources.ts";
import {
  followList,
  type FollowOptions,
  type RestartReason,
  type WatchEvent,
} from "../../src/kube/watch/watch.ts";
import { type Answer, type FakeServer, withClient } from "./fake-server.ts";

export type Event<Type extends WatchEvent<NCApp>["type"]> = Extract<WatchEvent<NCApp>, { type: Type }>;

export interface Follower {
  /** Returns the next event, which must be of this type; skips signs of life unless that is the type. */
  next<Type extends WatchEvent<NCApp>["type"]>(type: Type): Promise<Event<Type>>;
  /** Returns the next event that is neither a sign of life nor a problem. */
  nextOutcome(): Promise<WatchEvent<NCApp>>;
  restarts: RestartReason[];
  stop(): Promise<void>;
}

/** Follows the NCApps of node-a, event by event, with pauses of 1, 2, 3 … ms. */
export function follow(client: KubeClient, options: Partial<FollowOptions<NCApp>> = {}): Follower {
  const stop = new AbortController();
  const restarts: RestartReason[] = [];
  let delay = 0;
  const backoff = { next: () => ++delay, reset: () => void (delay = 0) };
  const filter = (app: NCApp) => app.spec?.nodeName === "node-a";
  const onRestart = (reason: RestartReason) => restarts.push(reason);
  const events = followList<NCApp>(
    client,
    { resource: ncapps, filter, backoff, onRestart, ...options },
    stop.signal,
  );

  const nextBut = async (...passedOver: string[]) => {
    for (;;) {
      const { value } = await events.next();
      if (!value) throw new Error("the follower ended");
      if (!passedOver.includes(value.type)) return value;
    }
  };
  return {
    async next(type) {
      const event = await nextBut(...(type === "alive" ? [] : ["alive"]));
      assert.equal(event.type, type, JSON.stringify(event));
      return event as Event<typeof type>;
    },
    nextOutcome: () => nextBut("alive", "problem"),
    restarts,
    async stop() {
      stop.abort();
      await events.return();
    },
  };
}

/** Follows the NCApps of node-a on a fake server. */
export function following(
  answer: Answer,
  use: (follower: Follower, server: FakeServer) => Promise<void>,
  options: Partial<FollowOptions<NCApp>> = {},
  clientOptions: ClientOptions = {},
): Promise<void> {
  return withClient(answer, async (client, server) => {
    const follower = follow(client, options);
    try {
      await use(follower, server);
    } finally {
      await follower.stop();
    }
  }, clientOptions);
}

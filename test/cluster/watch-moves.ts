import { keyOf } from "../../src/api/names.ts";
import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncapps } from "../../src/kube/resources.ts";
import { followList } from "../../src/kube/watch/watch.ts";

export interface Moves {
  /** The node of each app. */
  places: Map<string, string>;
  /** Apps whose node ever changed, each with the old and the new node. */
  moved: string[];
  stop(): Promise<void>;
}

/** Follows all apps and keeps every change of a node that the API server ever shows. */
export async function watchMoves(client: KubeClient): Promise<Moves> {
  const places = new Map<string, string>();
  const moved: string[] = [];
  const stopping = new AbortController();
  let ready = () => {};
  const alive = new Promise<void>((resolve) => ready = resolve);
  const note = ({ metadata, spec }: NCApp) => {
    const key = keyOf({ metadata });
    const before = places.get(key);
    if (before && spec.nodeName !== before) moved.push(`${key}: ${before} to ${spec.nodeName}`);
    if (spec.nodeName) places.set(key, spec.nodeName);
  };
  const done = (async () => {
    for await (const event of followList<NCApp>(client, { resource: ncapps }, stopping.signal)) {
      if (event.type === "alive") ready();
      if (event.type === "applied") note(event.object);
    }
  })();
  await alive;
  return {
    places,
    moved,
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

import type { NCApp } from "../../src/api/types.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { ncapps } from "../../src/kube/resources.ts";
import { followList } from "../../src/kube/watch/watch.ts";

/** One state that the API server showed of an app. */
export interface Chapter {
  node: string | undefined;
  phase: string | undefined;
}

export interface Stories extends AsyncDisposable {
  /** All states of an app since the start of the watch, or since `clear`. */
  of(name: string): Chapter[];
  clear(): void;
}

/** Follows all apps and keeps every state that the API server ever shows. */
export async function watchStories(client: KubeClient): Promise<Stories> {
  const stories = new Map<string, Chapter[]>();
  const stopping = new AbortController();
  let ready = () => {};
  const alive = new Promise<void>((resolve) => ready = resolve);
  const done = (async () => {
    for await (const event of followList<NCApp>(client, { resource: ncapps }, stopping.signal)) {
      if (event.type === "alive") ready();
      if (event.type !== "applied") continue;
      const { metadata, spec, status } = event.object;
      const chapters = stories.get(metadata.name) ?? [];
      stories.set(metadata.name, [...chapters, { node: spec.nodeName, phase: status?.phase }]);
    }
  })();
  await alive;
  return {
    of: (name) => stories.get(name) ?? [],
    clear: () => stories.clear(),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await done;
    },
  };
}

/**
 * `GET /apps?watch=true`: every app, then every change, as one line of JSON each: `{"type":"ADDED","object":…}`.
 * `GET /apps/NAMESPACE/NAME?watch=true`: the same of one app, until it is deleted.
 *
 * Guarantees: a client that reads slowly skips states in between, never the newest one of an app: the backlog is a set of keys,
 * and an object is built when it is sent. An app that was deleted and created again is reported as both.
 */
import { keyOf, splitAppKey } from "../../api/names.ts";
import type { AgentView, AppView } from "../view.ts";

export interface WatchLine {
  type: "ADDED" | "MODIFIED" | "DELETED";
  app: AppView;
}

/** Yields the lines of one watch until the signal aborts; with `only`, those of the app with this key. */
export async function* watchApps(
  view: AgentView,
  signal: AbortSignal,
  only?: string,
): AsyncGenerator<WatchLine> {
  const sent = new Map<string, AppView>();
  const pending = new Set(only === undefined ? view.apps().map(({ app }) => keyOf(app)) : [only]);
  let wake = () => {};
  const unsubscribe = view.onChange((key) => {
    if (only !== undefined && key !== only) return;
    pending.add(key);
    wake();
  });
  signal.addEventListener("abort", () => wake(), { once: true });
  try {
    while (!signal.aborted) {
      const [key] = pending;
      if (key === undefined) {
        await new Promise<void>((resolve) => wake = resolve);
        continue;
      }
      pending.delete(key);
      const { namespace, name } = splitAppKey(key);
      for (const line of compare(sent.get(key), view.app(namespace, name))) {
        if (line.type === "DELETED") sent.delete(key);
        else sent.set(key, line.app);
        yield line;
      }
    }
  } finally {
    unsubscribe();
  }
}

/** Returns a signal that aborts with what `whyOver` returns. It is asked now and with each change of the app, until `signal` aborts. */
export function abortWhen(
  view: AgentView,
  key: string,
  whyOver: () => string | undefined,
  signal: AbortSignal,
): AbortSignal {
  const over = new AbortController();
  const check = () => {
    const why = whyOver();
    if (why !== undefined) over.abort(new Error(why));
  };
  const unwatch = view.onChange((changed) => changed === key && check());
  signal.addEventListener("abort", unwatch, { once: true });
  if (signal.aborted) unwatch();
  check();
  return over.signal;
}

function compare(before: AppView | undefined, now: AppView | undefined): WatchLine[] {
  const added: WatchLine[] = now ? [{ type: "ADDED", app: now }] : [];
  if (!before) return added;
  if (before.app.metadata.uid !== now?.app.metadata.uid) return [{ type: "DELETED", app: before }, ...added];
  // Both are replaced when they change, and never modified.
  const isSame = before.app === now?.app && before.status === now?.status;
  return isSame ? [] : [{ type: "MODIFIED", app: now! }];
}

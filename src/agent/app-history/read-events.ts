import type { AppEventView, EventQuery, HistoryEntry } from "../../server/view.ts";
import type { AppHistory } from "./history-store.ts";
import { mergeEqual } from "./entries.ts";

/** How many events of each app are shown without a time, and where in its file they are looked for. */
const newest = { count: 20, bytes: 8192 };

/** Yields the events of each app, equal ones as one with their count. `known` are the apps that exist. */
export async function* readEvents(
  history: AppHistory,
  { app, since }: EventQuery,
  known: Iterable<string>,
): AsyncGenerator<AppEventView[]> {
  const keys = app !== undefined ? [app] : since === undefined ? known : await history.keys();
  const options = since === undefined ? { lastBytes: newest.bytes } : { since };
  for (const key of keys) {
    const events = mergeEqual((await history.read(key, options)).filter(({ usage }) => !usage));
    yield events.slice(since === undefined ? -newest.count : 0).map((entry) => eventView(key, entry));
  }
}

function eventView(app: string, entry: HistoryEntry): AppEventView {
  const { time, since = time, type = "Normal", reason = "", message = "", count = 1 } = entry;
  const [firstTimestamp, lastTimestamp] = [since, time].map((at) => new Date(at).toISOString());
  return {
    app,
    type,
    reason,
    message,
    count,
    firstTimestamp: firstTimestamp!,
    lastTimestamp: lastTimestamp!,
  };
}

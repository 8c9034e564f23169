/**
 * What happened to each app of this node, on disk: events, exits, edits and samples of its usage, for seven days and 64 KB per app.
 *
 * entries.ts has the format and what is kept, history-file.ts one file, history-store.ts all of them; record-history.ts says what is
 * written, read-events.ts reads events for commands and pages. Each app has a file in `<state>/history`, which outlives the agent, reboots
 * and the app itself: those of the last hundred apps that were removed stay until they are seven days old.
 * Guarantees: nothing waits for the disk but who reads; memory is bounded, and nothing is kept of an app that rests.
 * Caveats: best effort. What happened in the last second before a crash is lost, and what a full or hung disk does not take;
 * `lost` counts that.
 */
export { type AppHistory, createAppHistory } from "./history-store.ts";
export { readEvents } from "./read-events.ts";
export { recordHistory, recordUsage } from "./record-history.ts";

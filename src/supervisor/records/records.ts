/**
 * What the agent remembers of its apps, on disk.
 *
 * The record store keeps one file per app. Recovery runs when an agent starts: it takes over apps whose record is lost but whose run
 * goes on, and removes what no record knows. `LostApps` holds what is left of apps whose records were all damaged.
 */
export { LostApps } from "./lost-apps.ts";
export { createRecordStore, decodeRecord, type RecordStore, saveRunRecord } from "./record-store.ts";
export { recoverRecords, removeLeftovers } from "./recovery.ts";

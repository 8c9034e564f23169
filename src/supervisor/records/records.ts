/**
 * What the agent knows about its apps, on disk.
 *
 * The record store keeps one file per app. Recovery runs when an agent starts: it adopts apps whose record is lost but whose run
 * continues, and removes runs without a record. What cannot be read, or a later version wrote, is left alone with its processes. `LostApps` removes the remains of apps whose records were all damaged.
 */
export { LostApps } from "./lost-apps.ts";
export {
  createRecordStore,
  decodeRecord,
  encodeRecord,
  readRunRecord,
  type RecordStore,
  saveRunRecord,
} from "./record-store.ts";
export { type Holds, recoverRecords, removeLeftovers } from "./recovery.ts";

import type { EventTarget } from "../report/event-tally.ts";
import type { AppRecord } from "./types.ts";

/** The app as events name it. */
export function eventTarget({ namespace, name, uid }: AppRecord): EventTarget {
  return { namespace, name, uid };
}

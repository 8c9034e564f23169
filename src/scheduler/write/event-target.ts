import type { EventTarget } from "../../report/events/events.ts";
import type { AppRecord } from "../types.ts";

/** The app as events name it. */
export function eventTarget({ namespace, name, uid }: AppRecord): EventTarget {
  return { namespace, name, uid };
}

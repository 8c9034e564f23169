import { ageOf } from "./app-table.ts";
import { printableLine } from "./paint.ts";
import { formatTable } from "./table.ts";

/** What commands read of an event, whether the agent or the API server has it. */
export interface ShownEvent {
  app?: string;
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string;
}

/** The events of one app, as the end of its description. */
export function describeEvents(found: ShownEvent[], now: number): string[] {
  if (found.length === 0) return ["Events: none"];
  return ["Events:", ...eventTable(found, now).map((line) => `  ${line}`)];
}

/** Returns the lines of a table of events, the header first; with `app`, a column says whose. */
export function eventTable(found: ShownEvent[], now: number, { app = false } = {}): string[] {
  const cells = found.map((
    { app: key = "", type = "", reason = "", message = "", count = 1, lastTimestamp },
  ) =>
    [
      ...(app ? [key] : []),
      type,
      reason,
      `${ageOf(lastTimestamp, now)}${count > 1 ? ` (x${count})` : ""}`,
      message,
    ].map(printableLine)
  );
  return formatTable([[...(app ? ["APP"] : []), "TYPE", "REASON", "AGE", "MESSAGE"], ...cells]);
}

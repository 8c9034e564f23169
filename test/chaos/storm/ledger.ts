/** Records what the storm did to its apps, which the invariants compare with the evidence. */
import { uptime } from "node:os";
import type { KindName } from "./kinds.ts";

/** A requested end of an instance. */
export interface Ask {
  what: "delete" | "restart" | "suspend" | "kill" | "shutdown";
  /** In seconds since boot. */
  at: number;
}

/** One app under one uid; the same name under a new uid is another app. */
export interface StormApp {
  name: string;
  kind: KindName;
  uid: string;
  asks: Ask[];
  suspended: boolean;
  /** The CPU share that a resize gave it. */
  cpuPCT?: string;
  /** Its record or its launcher was destroyed on purpose: its runs and exit statuses are no longer checked. */
  excused?: string;
}

/** Records that the storm is about to end an instance of the app, or has just ended it. */
export function ask(app: StormApp, what: Ask["what"], now = uptime()): void {
  app.asks.push({ what, at: now });
}

/** What the storm itself has done to its apps: the other half of every judgement about them. */
import { uptime } from "node:os";
import type { KindName } from "./kinds.ts";

/** Why an instance may end: somebody asked for it. */
export interface Ask {
  what: "delete" | "restart" | "suspend" | "kill";
  /** In seconds since the machine was booted. */
  at: number;
}

/** One app under one uid; the same name under a new uid is another one. */
export interface StormApp {
  name: string;
  kind: KindName;
  uid: string;
  asks: Ask[];
  suspended: boolean;
  /** What is known of its past was destroyed on purpose: its runs and exit statuses are not counted from then on. */
  excused?: string;
}

/** Notes that the storm is about to end an instance of the app. */
export function ask(app: StormApp, what: Ask["what"], now = uptime()): void {
  app.asks.push({ what, at: now });
}

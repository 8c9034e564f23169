import type { NodeEntry } from "../node-entry.ts";
import type { SchedulerApp } from "../types.ts";

const none: readonly SchedulerApp[] = [];

/** Apps for which room was made on the node and which come before `app`: what they need is not free for it. */
export function claimants(app: SchedulerApp, { nominated }: NodeEntry): readonly SchedulerApp[] {
  if (nominated.length === 0) return none;
  return nominated.filter(({ key, priority }) => key !== app.key && priority >= app.priority);
}

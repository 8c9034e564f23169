import assert from "node:assert/strict";
import { test } from "node:test";
import { createEventLog } from "../../../src/agent/view/event-log.ts";
import type { Reason } from "../../../src/api/reasons.ts";
import type { AppEvent } from "../../../src/supervisor/types.ts";

const event = (reason: Reason, message = ""): AppEvent => ({ type: "Normal", reason, message });

test("the event log counts equal events, keeps the last of each app, and drops those of removed apps", () => {
  let now = 0;
  const events = createEventLog({ perApp: 2, now: () => now += 1000 });
  events.add("default/a", event("Started", "as process 1"));
  events.add("default/b", event("Started"));
  events.add("default/a", event("Exited"));
  events.add("default/a", event("Started", "as process 1"));
  const shown = () => events.list().map(({ app, reason, count }) => `${app} ${reason} x${count}`);
  assert.deepEqual(shown(), ["default/b Started x1", "default/a Exited x1", "default/a Started x2"]);
  events.add("default/a", event("Stopping"));
  assert.deepEqual(shown(), ["default/b Started x1", "default/a Started x2", "default/a Stopping x1"]);
  events.forget("default/a");
  assert.deepEqual(shown(), ["default/b Started x1"]);
});

test("a long message is cut", () => {
  const events = createEventLog();
  events.add("default/a", event("Started", "x".repeat(5000)));
  assert.equal(events.list()[0]!.message.length, 1024);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { createReadiness } from "../../../src/agent/view/readiness.ts";
import type { Check } from "../../../src/server/view.ts";
import { createTestLog } from "../../report/test-log.ts";

const fine: Check = { name: "disk", ok: true, message: "/var/lib/nckubelet has 900 MiB free" };
const broken: Check = { name: "disk", ok: false, message: "/var/lib/nckubelet cannot be written to: EROFS" };
const stuck: Check = { name: "sync", ok: false, message: "last sync 40 s ago" };

const setUp = () => {
  let checks: Check[] = [fine];
  let time = 0;
  const log = createTestLog();
  const readiness = createReadiness(() => checks, { log, holdMs: 30_000, now: () => time });
  /** Sets the result of the checks from now on, which run every ten seconds. */
  const look = (next: Check[], seconds: number) => {
    checks = next;
    for (const end = time + seconds * 1000; time < end; time += 10_000) readiness.update();
    return readiness.ready().ready;
  };
  return { readiness, look, log };
};

test("a node whose checks pass is ready, always in the same words", () => {
  const { readiness, look } = setUp();
  const before = readiness.ready();
  assert.equal(look([fine], 60), true);
  assert.deepEqual(readiness.ready(), before);
  assert.deepEqual(before, { ready: true, message: "nckubelet runs apps" });
});

test("a check that fails for half a minute without a break makes the node not ready, and the same the other way round", () => {
  const { readiness, look, log } = setUp();
  look([fine], 10);
  assert.equal(look([broken, stuck], 30), true);
  assert.equal(look([broken, stuck], 10), false);
  assert.deepEqual(readiness.ready(), {
    ready: false,
    message: `disk: ${broken.message}; sync: ${stuck.message}`,
  });
  assert.equal(look([fine], 30), false);
  assert.equal(look([fine], 10), true);
  assert.deepEqual(log.lines, ["warn the node is not ready", "info the node is ready again"]);
});

test("a disk that fails for a moment, again and again, changes nothing in either state", () => {
  const { look, log } = setUp();
  look([fine], 10);
  for (let times = 0; times < 5; times++) {
    assert.equal(look([broken], 30), true);
    assert.equal(look([fine], 10), true);
  }
  look([broken], 40);
  for (let times = 0; times < 5; times++) {
    assert.equal(look([fine], 30), false);
    assert.equal(look([broken], 10), false);
  }
  assert.deepEqual(log.lines, ["warn the node is not ready"]);
});

test("the message stays while the node is not ready, however the figures in it change", () => {
  const { readiness, look } = setUp();
  look([fine], 10);
  for (let free = 31; free > 0; free--) look([{ ...broken, message: `${free} MiB free` }], 10);
  assert.equal(readiness.ready().message, "disk: 28 MiB free");
});

test("the first look counts at once: an agent that is started on a broken node does not call it ready first", () => {
  const { look } = setUp();
  assert.equal(look([broken], 10), false);
});

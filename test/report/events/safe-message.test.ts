import assert from "node:assert/strict";
import { test } from "node:test";
import { safeMessage } from "../../../src/report/events/safe-message.ts";

test("safeMessage() cuts passwords and queries out of URLs", () => {
  assert.equal(
    safeMessage("cannot fetch https://me:secret@host:8443/a/run.sh?token=abc#x: 403"),
    "cannot fetch https://…@host:8443/a/run.sh?…: 403",
  );
  assert.equal(
    safeMessage('Started "https://host/run.sh?X-Sig=abc" as process 7'),
    'Started "https://host/run.sh?…" as process 7',
  );
  assert.equal(safeMessage("via http://user@proxy:3128"), "via http://…@proxy:3128");
});

test("safeMessage() leaves plain text, mail addresses and paths as they are, and keeps lines", () => {
  const text = "Started /opt/app/run.sh as process 12 (why? me@host)\nsecond line";
  assert.equal(safeMessage(text), text);
});

test("safeMessage() removes control characters and bounds the length", () => {
  assert.equal(safeMessage("a\u001b[31mb\tc\u0000"), "a [31mb c ");
  assert.equal(safeMessage("x".repeat(5000)).length, 1024);
  assert.equal(safeMessage("x".repeat(1024)), "x".repeat(1024));
});

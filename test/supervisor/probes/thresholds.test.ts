import assert from "node:assert/strict";
import { test } from "node:test";
import type { DefaultedProbe } from "../../../src/api/types.ts";
import {
  errorMessage,
  failureMessage,
  noResults,
  observeProbe,
} from "../../../src/supervisor/probes/thresholds.ts";

const probe: DefaultedProbe = {
  tcpSocket: { port: 1 },
  initialDelaySeconds: 0,
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 2,
  failureThreshold: 3,
};

/** The verdict after each result: + is a success, - a failure. */
function verdicts(results: string): (string | undefined)[] {
  let state = noResults;
  return [...results].map((sign) =>
    (state = observeProbe(state, { ok: sign === "+", message: "" }, probe)).verdict
  );
}

test("a verdict takes as many equal results in a row as its threshold", () => {
  assert.deepEqual(verdicts("++"), [undefined, "passed"]);
  assert.deepEqual(verdicts("---"), [undefined, undefined, "failed"]);
});

test("an opposite result restarts the count, and the verdict stays until the other threshold is reached", () => {
  assert.deepEqual(verdicts("+-+-+-"), Array(6).fill(undefined));
  assert.deepEqual(verdicts("++--+--"), [undefined, ...Array(6).fill("passed")]);
  assert.deepEqual(verdicts("++---++"), [
    undefined,
    "passed",
    "passed",
    "passed",
    "failed",
    "failed",
    "passed",
  ]);
});

test("messages of failures are worded as in the kubelet", () => {
  const result = { ok: false, message: "HTTP probe failed with statuscode: 503" };
  assert.equal(
    failureMessage("liveness", result),
    "Liveness probe failed: HTTP probe failed with statuscode: 503",
  );
  assert.equal(
    errorMessage("startup", new Error("spawn /bin/sh EAGAIN")),
    "Startup probe errored: spawn /bin/sh EAGAIN",
  );
});

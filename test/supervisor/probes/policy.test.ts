import assert from "node:assert/strict";
import { test } from "node:test";
import type { DefaultedProbe } from "../../../src/api/types.ts";
import {
  errorMessage,
  failureMessage,
  observeProbe,
  untried,
} from "../../../src/supervisor/probes/policy.ts";

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
  let state = untried;
  return [...results].map((sign) =>
    (state = observeProbe(state, { ok: sign === "+", message: "" }, probe)).verdict
  );
}

test("a verdict takes as many results in a row as its threshold says", () => {
  assert.deepEqual(verdicts("++"), [undefined, "passed"]);
  assert.deepEqual(verdicts("---"), [undefined, undefined, "failed"]);
});

test("a result of the other kind begins the count anew, and the verdict stays until another is reached", () => {
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

test("failures are told in the kubelet's words", () => {
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

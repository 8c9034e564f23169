import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../src/api/names.ts";
import { logPolicyOf, parseBytes } from "../../../src/supervisor/logs/log-policy.ts";
import { appWith } from "../fixtures.ts";

const standard = { maxBytes: 10 * 2 ** 20, maxFiles: 5 };

test("each annotation of an app overrides the agent's setting", () => {
  assert.deepEqual(logPolicyOf(appWith(), standard), { policy: standard });
  const bigger = appWith({}, { annotations: { [annotations.logMaxSize]: "1Gi" } });
  assert.deepEqual(logPolicyOf(bigger, standard).policy, { maxBytes: 2 ** 30, maxFiles: 5 });
  const fewer = appWith({}, { annotations: { [annotations.logMaxFiles]: "2" } });
  assert.deepEqual(logPolicyOf(fewer, standard).policy, { maxBytes: standard.maxBytes, maxFiles: 2 });
});

test("an invalid annotation is ignored and quoted in the problem", () => {
  for (
    const [name, value] of [[annotations.logMaxSize, "10 MB"], [annotations.logMaxSize, "1"], [
      annotations.logMaxFiles,
      "-1",
    ]] as const
  ) {
    const { policy, problem } = logPolicyOf(appWith({}, { annotations: { [name]: value } }), standard);
    assert.deepEqual(policy, standard);
    assert.ok(problem?.includes(JSON.stringify(value)));
  }
});

test("parseBytes() accepts the units of Kubernetes", () => {
  assert.deepEqual(["65536", "100K", "1Mi", "2G"].map(parseBytes), [65_536, 100_000, 2 ** 20, 2e9]);
});

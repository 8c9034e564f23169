import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { annotations, usualLog } from "../../../src/api/names.ts";
import { logLimitsOf, parseBytes } from "../../../src/supervisor/logs/log-limits.ts";
import { appWith } from "../fixtures.ts";

const standard = { maxBytes: 10 * 2 ** 20, maxFiles: 5 };

test("each annotation of an app overrides the agent's setting", () => {
  assert.deepEqual(logLimitsOf(appWith(), standard), { limits: standard });
  const bigger = appWith({}, { annotations: { [annotations.logMaxSize]: "1Gi" } });
  assert.deepEqual(logLimitsOf(bigger, standard).limits, { maxBytes: 2 ** 30, maxFiles: 5 });
  const fewer = appWith({}, { annotations: { [annotations.logMaxFiles]: "2" } });
  assert.deepEqual(logLimitsOf(fewer, standard).limits, { maxBytes: standard.maxBytes, maxFiles: 2 });
});

test("an invalid annotation is ignored and quoted in the problem", () => {
  for (
    const [name, value] of [[annotations.logMaxSize, "10 MB"], [annotations.logMaxSize, "1"], [
      annotations.logMaxFiles,
      "-1",
    ]] as const
  ) {
    const { limits, problem } = logLimitsOf(appWith({}, { annotations: { [name]: value } }), standard);
    assert.deepEqual(limits, standard);
    assert.ok(problem?.includes(JSON.stringify(value)));
  }
});

test("parseBytes() accepts the units of Kubernetes", () => {
  assert.deepEqual(["65536", "100K", "1Mi", "2G"].map(parseBytes), [65_536, 100_000, 2 ** 20, 2e9]);
});

test("launchers assume the usual limits of a log", () => {
  const source = readFileSync(new URL("../../../launcher/launcher.c", import.meta.url), "utf8");
  const [, mebibytes, files] = /USUAL_BYTES \((\d+)ULL << 20\)\n#define USUAL_FILES (\d+)/.exec(source) ?? [];
  assert.deepEqual({ maxSize: `${mebibytes}Mi`, maxFiles: files }, usualLog);
});

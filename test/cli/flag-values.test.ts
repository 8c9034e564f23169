import assert from "node:assert/strict";
import { test } from "node:test";
import {
  misspelledVariables,
  parseBoolean,
  parseChoice,
  parseDuration,
  parseHttpURL,
  parsePercentage,
  parseWholeNumber,
} from "../../src/cli/flag-values.ts";

test("misspelledVariables() names variables that are almost a setting, and no others", () => {
  const others = [
    "NCKUBELET_URL",
    "NCKUBELET_TOKEN",
    "NCKUBELET_EXEC",
    "NCKUBELET_PORT_443_TCP",
    "LEADER_ELECT",
  ];
  const typed = ["NCKUBELET_LEADER_ELECT", "NCKUBELET_NO_LEADER_ELECT", "NCKUBELET_POLCY"];
  const env = Object.fromEntries([...others, ...typed].map((name) => [name, "1"]));
  assert.deepEqual(misspelledVariables(env, ["no-leader-elect", "policy", "server", "token-file"]), [
    "NCKUBELET_LEADER_ELECT is no setting and has no effect; did you mean NCKUBELET_NO_LEADER_ELECT?",
    "NCKUBELET_POLCY is no setting and has no effect; did you mean NCKUBELET_POLICY?",
  ]);
});

test("parseDuration() needs a unit and a time that a timer can hold", () => {
  assert.deepEqual(["500ms", "10s", "1.5m", "2h"].map((text) => parseDuration("x", text)), [
    500,
    10_000,
    90_000,
    7_200_000,
  ]);
  for (const text of ["", "10", "0s", "-1s", "1d", "600h"]) {
    assert.throws(() => parseDuration("every", text), {
      name: "UsageError",
      message: /^--every ".*": use a time/,
    });
  }
});

test("parseBoolean() takes true and false, and 1 and 0", () => {
  const texts = ["true", "1", "false", "0"];
  assert.deepEqual(texts.map((text) => parseBoolean("x", text)), [true, true, false, false]);
  assert.throws(() => parseBoolean("x", "yes"), /^UsageError: --x "yes": use true or false$/);
});

test("parseWholeNumber() keeps to its range", () => {
  assert.deepEqual(["0", "7"].map((text) => parseWholeNumber("n", text)), [0, 7]);
  for (const text of ["", "0", "8", "1.5", "-1", "1e1"]) {
    assert.throws(() => parseWholeNumber("n", text, { min: 1, max: 7 }), {
      name: "UsageError",
      message: `--n ${JSON.stringify(text)}: use a whole number from 1 to 7`,
    });
  }
});

test("parsePercentage() takes 0 to 100", () => {
  assert.deepEqual(["0", "12.5", "100"].map((text) => parsePercentage("p", text)), [0, 12.5, 100]);
  for (const text of ["101", "5%", "-1"]) assert.throws(() => parsePercentage("p", text), /from 0 to 100/);
});

test("parseChoice() names the choices", () => {
  assert.equal(parseChoice("mode", "b", ["a", "b"]), "b");
  assert.throws(() => parseChoice("mode", "x", ["a", "b"]), /^UsageError: --mode "x": use a or b$/);
  assert.throws(() => parseChoice("mode", "x", ["a", "b", "c"]), /: use a, b or c$/);
});

test("parseHttpURL() refuses other schemes without showing a password", () => {
  assert.equal(parseHttpURL("url", "https://example.com/x").href, "https://example.com/x");
  assert.throws(() => parseHttpURL("url", "ftp://me:secret@example.com"), (error: Error) => {
    assert.match(error.message, /^--url .*: use an http:\/\/ or https:\/\/ URL$/);
    return !error.message.includes("secret");
  });
});

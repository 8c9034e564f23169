import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { createLogger, describeError, type LogOptions } from "../../src/lib/log.ts";

function logTo(options: Omit<LogOptions, "write"> = {}) {
  const lines: string[] = [];
  return { lines, log: createLogger({ now: () => 0, ...options, write: (line) => lines.push(line) }) };
}

test("a line has time, level, message and fields; values with spaces are quoted", () => {
  const { lines, log } = logTo();
  log.info("serving", { address: "http://127.0.0.1:1", why: "two words", missing: undefined });
  assert.deepEqual(lines, [
    '1970-01-01T00:00:00.000Z INFO  serving address=http://127.0.0.1:1 why="two words"',
  ]);
});

test("JSON lines have the same content", () => {
  const { lines, log } = logTo({ format: "json" });
  log.warn("trouble", { error: new Error("outer", { cause: new Error("inner") }) });
  assert.deepEqual(JSON.parse(lines[0] ?? ""), {
    time: "1970-01-01T00:00:00.000Z",
    level: "warn",
    message: "trouble",
    error: "outer: inner",
  });
});

test("lines below the level are dropped", () => {
  const { lines, log } = logTo({ level: "warn" });
  log.debug("a");
  log.info("b");
  log.error("c");
  assert.equal(lines.length, 1);
});

test("the same warning within a minute is counted, not printed", () => {
  let now = 0;
  const { lines, log } = logTo({ now: () => now });
  for (let count = 0; count < 5; count++) log.warn("down", { code: 503 });
  log.warn("down", { code: 429 });
  now = 61_000;
  log.warn("down", { code: 503 });
  assert.deepEqual(lines.map((line) => line.slice(31)), [
    "down code=503",
    "down code=429",
    "down code=503 repeated=4",
  ]);
});

test("describeError() does not repeat a message", () => {
  assert.equal(
    describeError(new Error("cannot read x: ENOENT", { cause: new Error("ENOENT") })),
    "cannot read x: ENOENT",
  );
  assert.equal(describeError("text"), "text");
});

test("describeError() says what a file system error means, once, without the number's name", async () => {
  const raw: Error = await readFile("/none/x").catch((error) => error);
  assert.equal(describeError(raw), "/none/x: no such file");
  assert.equal(
    describeError(new Error("cannot read the token", { cause: raw })),
    "cannot read the token: /none/x: no such file",
  );
  assert.equal(
    describeError(new Error("--config /none/x: no such file", { cause: raw })),
    "--config /none/x: no such file",
  );
});

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { splitLines } from "../../../src/kube/watch/watch-stream.ts";

async function* chunksOf(...chunks: (string | Uint8Array)[]) {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}

async function linesOf(...chunks: (string | Uint8Array)[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of splitLines(chunksOf(...chunks), 100)) lines.push(line);
  return lines;
}

test("splitLines() joins lines that span chunks and splits chunks with several lines", async () => {
  assert.deepEqual(await linesOf("on", "e\ntwo\nth", "re", "e\n"), ["one", "two", "three"]);
});

test("splitLines() keeps characters whole whose bytes span chunks", async () => {
  const bytes = Buffer.from("héllo 世界 🦀\n");
  for (let at = 1; at < bytes.length; at++) {
    assert.deepEqual(
      await linesOf(bytes.subarray(0, at), bytes.subarray(at)),
      ["héllo 世界 🦀"],
      `cut at ${at}`,
    );
  }
  assert.deepEqual(await linesOf(...[...bytes].map((byte) => Uint8Array.of(byte))), ["héllo 世界 🦀"]);
});

test("splitLines() skips empty lines", async () => {
  assert.deepEqual(await linesOf("\n\none\n\r\n"), ["one"]);
});

test("splitLines() throws for a last line without a newline, even if it looks complete", async () => {
  await assert.rejects(linesOf('{"a":1}\n', '{"b":2}'), /broke off inside a line, after 7 bytes/);
});

test("splitLines() limits the length of a line", async () => {
  await assert.rejects(linesOf("x".repeat(60), "x".repeat(60)), /longer than 100 bytes/);
});

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openHistory } from "../../tools/test/history.ts";
import { liveLines } from "../../tools/test/live-lines.ts";
import { openScreen } from "../../tools/test/screen.ts";
import { tempFolder } from "../temp-folder.ts";

test("liveLines() never returns a line that a terminal would wrap, or that moves its cursor", () => {
  const newest = "a name with \x1b[2J, \n and 🙂🙂🙂🙂";
  for (let width = 1; width < 60; width++) {
    const [line = ""] = liveLines([{ title: "unit", startedMs: 0, newest }], 0, width);
    assert.ok([...line].length <= Math.max(1, width - 1), `${width}: ${line}`);
    assert.doesNotMatch(line, /[\x00-\x1f]/);
  }
});

test("a pipe and CI get each line at once, without live lines and control characters", async () => {
  for (const [isTTY, env] of [[false, {}], [true, { CI: "true" }], [true, { TERM: "dumb" }]] as const) {
    const written: string[] = [];
    const screen = openScreen({ isTTY, write: (text: string) => written.push(text) }, env);
    await screen.during({ title: "a step", startedMs: 0 }, async () => screen.print("a failure"));
    screen.tell("a detail");
    screen.close();
    assert.deepEqual(written, ["a failure\n"]);
  }
});

test("openHistory() takes a broken file for an empty one, and ignores what it cannot write", () => {
  using temp = tempFolder();
  const file = join(temp.path, "history.json");
  for (const text of ["", "{", "null", "[1]", '{"unit": null}', '{"unit": {"ms": "12"}}']) {
    writeFileSync(file, text);
    assert.equal(openHistory(file).get("unit"), undefined, text);
  }
  const folder = join(temp.path, "folder");
  mkdirSync(folder);
  const history = openHistory(folder);
  history.set("unit", { ms: 1 });
  assert.deepEqual(history.get("unit"), { ms: 1 });
});

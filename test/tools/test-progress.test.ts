import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openHistory } from "../../tools/test/history.ts";
import { liveLines, type Step } from "../../tools/test/live-lines.ts";
import { openScreen } from "../../tools/test/screen.ts";
import { tempFolder } from "../temp-folder.ts";

test("liveLines() says what runs, how far it is, since when, and what is expected", () => {
  const steps: Step[] = [
    { title: "unit tests on Deno", startedMs: 0, tests: { done: 1 } },
    {
      title: "process tests on Node",
      startedMs: 60_000,
      expectedMs: 270_000,
      tests: { done: 12, of: 530 },
      newest: "test/cli/run.process.test.ts",
    },
    { title: "installing guest", startedMs: 124_600, newest: "guest: booting Linux 7.2" },
  ];
  assert.deepEqual(liveLines(steps, 125_000, 200), [
    "unit tests on Deno     1 test  2:05",
    "process tests on Node  12 of 530 tests  1:05 of about 4:30  test/cli/run.process.test.ts",
    "installing guest       0:00  guest: booting Linux 7.2",
  ]);
});

test("liveLines() expects no number of tests that is already exceeded", () => {
  const [line] = liveLines([{ title: "unit", startedMs: 0, tests: { done: 12, of: 10 } }], 0, 80);
  assert.equal(line, "unit  12 tests  0:00");
});

test("liveLines() never returns a line that a terminal would wrap, or that moves its cursor", () => {
  const newest = "a name with \x1b[2J, \n and 🙂🙂🙂🙂";
  for (let width = 1; width < 60; width++) {
    const [line = ""] = liveLines([{ title: "unit", startedMs: 0, newest }], 0, width);
    assert.ok([...line].length <= Math.max(1, width - 1), `${width}: ${line}`);
    assert.doesNotMatch(line, /[\x00-\x1f]/);
  }
});

test("a terminal has the live lines below all that was printed, and nothing of them at the end", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const written: string[] = [];
  const screen = openScreen(
    { isTTY: true, columns: 40, write: (text: string) => written.push(text) },
    {},
  );
  const tick = () => (t.mock.timers.tick(250), written.splice(0).join(""));
  const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const shown = steps.map(({ promise }, at) =>
    screen.during({ title: `step ${at}`, startedMs: performance.now() }, () => promise)
  );
  screen.print("first");
  screen.tell("second");
  assert.deepEqual(written, [], "all that comes in a quarter of a second is one write");
  assert.equal(tick(), "first\nsecond\nstep 0  0:00\nstep 1  0:00\n");
  screen.print("third");
  steps[0]!.resolve();
  await shown[0];
  assert.equal(tick(), "\x1b[2F\x1b[0Jthird\nstep 1  0:00\n");
  screen.print("the end");
  screen.close();
  assert.equal(written.splice(0).join(""), "\x1b[1F\x1b[0Jthe end\n");
  screen.close();
  assert.equal(tick(), "", "nothing follows the end");
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

test("openHistory() remembers the figures of the last run, in a folder that it makes", () => {
  using temp = tempFolder();
  const file = join(temp.path, "cache", "history.json");
  openHistory(file).set("unit", { ms: 12.4, tests: 3 });
  openHistory(file).set("installing guest", { ms: 1000 });
  assert.deepEqual(openHistory(file).get("unit"), { ms: 12, tests: 3 });
  assert.deepEqual(openHistory(file).get("installing guest"), { ms: 1000 });
  assert.equal(openHistory(file).get("cluster"), undefined);
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

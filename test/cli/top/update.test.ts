import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../../../src/api/names.ts";
import { listHeight } from "../../../src/cli/top/layout.ts";
import { listOf } from "../../../src/cli/top/state.ts";
import { update } from "../../../src/cli/top/update.ts";
import { after, app, manyApps, now, stateOf } from "./sample-apps.ts";

const names = (state: ReturnType<typeof stateOf>) => listOf(state).apps.map(({ metadata }) => metadata.name);
const chosen = (state: ReturnType<typeof stateOf>) => {
  const { apps, index } = listOf(state);
  return apps[index]?.metadata.name;
};

test("keys sort the apps, and R reverses the order", () => {
  const state = stateOf([
    app("b", { cpuPCT: "3.0", memoryBytes: 1, restarts: 0, startTime: "2026-01-01T00:01:00Z" }),
    app("a", { cpuPCT: "9.0", memoryBytes: 2, restarts: 5, startTime: "2026-01-01T00:02:00Z" }),
    app("c", { cpuPCT: "1.0", memoryBytes: 3, restarts: 1, phase: "BackOff", startTime: undefined }),
  ]);
  const expected: [string[], string[]][] = [
    [[], ["a", "b", "c"]],
    [["m"], ["c", "a", "b"]],
    [["n"], ["a", "b", "c"]],
    [["n", "R"], ["c", "b", "a"]],
    [["n", "R", "R"], ["a", "b", "c"]],
    [["p"], ["c", "a", "b"]],
    [["t"], ["a", "c", "b"]],
    [["a"], ["a", "b", "c"]],
    [["R", "c"], ["a", "b", "c"]],
  ];
  for (const [keys, order] of expected) assert.deepEqual(names(after(state, ...keys)), order, keys.join());
});

test("the selection moves with the keys, stays in the list, and is always on the screen", () => {
  const start = stateOf(manyApps(60));
  const height = listHeight(start);
  const expected: [string[], string][] = [
    [[], "app-00"],
    [["<up>"], "app-00"],
    [["<down>", "j"], "app-02"],
    [["<end>"], "app-59"],
    [["<end>", "<down>"], "app-59"],
    [["<end>", "<home>"], "app-00"],
    [["<page-down>"], `app-${height - 1}`],
    [["<page-down>", "<page-up>"], "app-00"],
    [["G", "k", "g"], "app-00"],
  ];
  for (const [keys, name] of expected) assert.equal(chosen(after(start, ...keys)), name, keys.join());
  let state = start;
  for (
    const key of ["<page-down>", "<page-down>", "<up>", "<end>", "<page-up>", "<up>", "<home>", "<down>"]
  ) {
    for (const rows of [24, 5, 60, 1, 10]) {
      state = after(state, key, { kind: "size", columns: 80, rows });
      const { index } = listOf(state);
      const shown = listHeight(state);
      if (shown > 0) assert.ok(index >= state.first && index < state.first + shown, `${key} ${rows}`);
    }
  }
});

test("the selection follows its app when others overtake it, and passes to the next when it is gone", () => {
  const apps = manyApps(4);
  const state = after(stateOf(apps), "<down>", "<down>");
  assert.equal(chosen(state), "app-02");
  const overtaken = [...apps, app("fast", { cpuPCT: "99.0" })];
  const moved = after(state, { kind: "data", heading: [], apps: overtaken, now });
  assert.deepEqual([chosen(moved), listOf(moved).index], ["app-02", 3]);
  const top = after(state, "<home>", { kind: "data", heading: [], apps: overtaken, now });
  assert.equal(chosen(top), "fast", "the first row stays the first");
  assert.equal(chosen(after(state, "n", "R")), "app-03", "another order starts at its top");
  const rest = apps.filter(({ metadata }) => metadata.name !== "app-02");
  assert.equal(chosen(after(state, { kind: "data", heading: [], apps: rest, now })), "app-03");
  const none = after(state, { kind: "data", heading: [], apps: [], now });
  assert.deepEqual([chosen(none), none.first], [undefined, 0]);
  assert.equal(update(none, { kind: "key", key: "<enter>" }).effect, undefined);
  assert.equal(update(none, { kind: "key", key: "r" }).state.mode.kind, "list");
});

test("/ finds apps while it is typed; Enter keeps the filter, Escape drops it", () => {
  const start = stateOf([app("web"), app("worker", { phase: "BackOff", reason: "OOMKilled" }), app("db")]);
  const typed = after(start, "/", "w", "q", "<backspace>", "é", "<backspace>", "<up>");
  assert.deepEqual([names(typed), typed.mode.kind], [["web", "worker"], "filter"]);
  const kept = after(typed, "<enter>");
  assert.deepEqual([names(kept), kept.mode.kind], [["web", "worker"], "list"]);
  assert.deepEqual(names(after(kept, "/", "x", "<escape>")), ["web", "worker"]);
  assert.equal(names(after(kept, "<escape>")).length, 3);
  assert.deepEqual(names(after(start, "/", ..."oom back", "<enter>")), ["worker"]);
  assert.deepEqual(names(after(start, "/", "w", "<ctrl-u>", "d", "b")), ["db"]);
  assert.equal(after(start, "/", ..."x".repeat(5000)).filter.length, 200);
});

test("q and Ctrl-C quit, but q is a letter in a filter", () => {
  const state = stateOf(manyApps(2));
  const effect = (keys: string[], last: string) =>
    update(after(state, ...keys), { kind: "key", key: last }).effect?.kind;
  assert.equal(effect([], "q"), "quit");
  assert.equal(effect(["/"], "q"), undefined);
  assert.equal(effect(["/"], "<ctrl-c>"), "quit");
  assert.equal(effect(["<enter>"], "<ctrl-c>"), "quit");
  assert.equal(effect(["?"], "q"), undefined);
  assert.equal(effect([], "<ctrl-z>"), "suspend");
});

test("r restarts the app that it named, and only after y", () => {
  const state = after(stateOf(manyApps(3)), "<down>", "r");
  assert.deepEqual(state.mode, { kind: "confirm", app: "default/app-01" });
  const moved = after(state, { kind: "data", heading: [], apps: manyApps(3).slice(2), now });
  for (const at of [state, moved]) {
    assert.deepEqual(update(at, { kind: "key", key: "y" }).effect, {
      kind: "restart",
      app: "default/app-01",
    });
  }
  for (const key of ["n", "<escape>", "r", "<enter>"]) {
    const { state: next, effect } = update(state, { kind: "key", key });
    assert.deepEqual([next.mode.kind, effect], ["list", undefined], key);
  }
});

test("Enter opens the log of the selected app, which follows until the reader scrolls", () => {
  const state = stateOf(manyApps(3), { rows: 7 });
  const opened = update(after(state, "<down>"), { kind: "key", key: "<enter>" });
  assert.deepEqual(opened.effect, { kind: "openLog", app: "default/app-01" });
  const text = Array.from({ length: 20 }, (_, n) => `line ${n}\n`).join("");
  const app = "default/app-01";
  const filled = after(opened.state, { kind: "logText", app, text }, {
    kind: "logText",
    app: "default/other",
    text: "no",
  });
  const pane = (state: typeof filled) => state.mode.kind === "log" ? state.mode.pane : assert.fail("no log");
  assert.deepEqual([pane(filled).lines.length, pane(filled).below], [20, 0]);
  const up = after(filled, "<up>", "<up>");
  assert.equal(pane(up).below, 2);
  assert.equal(pane(after(up, { kind: "logText", app, text: "more\nmore\n" })).below, 4);
  assert.equal(pane(after(up, "<end>")).below, 0);
  assert.equal(pane(after(up, "<home>")).below, 15);
  const { state: back, effect } = update(up, { kind: "key", key: "<escape>" });
  assert.deepEqual([back.mode.kind, effect?.kind], ["list", "closeLog"]);
  assert.equal(keyOf(listOf(back).apps[listOf(back).index]!), app);
});

test("a failed read keeps the apps and says why, until the next one succeeds", () => {
  const state = after(stateOf(manyApps(3)), { kind: "failed", why: "no answer", now });
  assert.deepEqual([state.failure, state.apps.length], ["no answer", 3]);
  assert.equal(after(state, { kind: "data", heading: [], apps: [], now }).failure, undefined);
});

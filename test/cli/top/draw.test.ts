import assert from "node:assert/strict";
import { test } from "node:test";
import { textWidth } from "../../../src/cli/screen/screen.ts";
import { draw } from "../../../src/cli/top/draw.ts";
import type { TopEvent, TopState } from "../../../src/cli/top/state.ts";
import { after, app, manyApps, now, stateOf } from "./sample-apps.ts";

const strange = [
  app("web", { phase: "BackOff", message: "日本語のメッセージ 🚀 ".repeat(20), cpuPCT: "123.4" }),
  app("a-name-that-is-longer-than-any-column-of-a-small-terminal-would-like-it-to-be"),
  app("evil", { message: "\x1b[2J\x1b[31mred\r\nsecond\tline", phase: undefined, cpuPCT: undefined }),
];
const logText: TopEvent = {
  kind: "logText",
  app: "default/web",
  text: `${"日本".repeat(100)}\n\x1b[31mred\x1b[0m\tend\r\n50%\r100%\nno end yet`,
};

const states: [string, TopState][] = [
  ["no apps", stateOf([])],
  ["no match", after(stateOf(manyApps(3)), "/", ..."nothing")],
  ["60 apps", after(stateOf(manyApps(60)), "<end>")],
  ["120 apps", after(stateOf(manyApps(120)), "<page-down>", "<page-down>")],
  ["strange apps", stateOf(strange)],
  ["a cluster", stateOf(strange, { scope: "cluster", heading: [] })],
  ["a filter", after(stateOf(strange), "/", ..."日本語".repeat(40), "<backspace>")],
  ["a question", after(stateOf(strange), "<down>", "r")],
  ["a failure", after(stateOf(strange), { kind: "failed", why: "no answer\nfrom ".repeat(20), now })],
  ["help", after(stateOf(strange), "?")],
  ["a log", after(stateOf(strange), "/", ..."web", "<enter>", "<enter>", logText)],
  ["a cut log", after(stateOf(strange), "/", ..."web", "<enter>", "<enter>", logText, "w", "<up>")],
];

test("draw() never returns a line wider or a screen higher than the terminal", () => {
  for (const [name, state] of states) {
    for (const columns of [1, 2, 3, 5, 10, 20, 40, 80, 81, 120, 200]) {
      for (const rows of [1, 2, 3, 4, 5, 8, 12, 24, 60]) {
        const resized = after(state, { kind: "size", columns, rows });
        const lines = draw(resized);
        const what = `${name} at ${columns}×${rows}`;
        assert.ok(lines.length <= rows, `${what}: ${lines.length} lines`);
        assert.ok(lines.length > 0, what);
        for (const line of lines) {
          assert.ok(textWidth(line) <= columns, `${what}: ${JSON.stringify(line)}`);
          assert.doesNotMatch(line, /[\x00-\x1f\x7f-\x9f]/, what);
        }
        assert.equal(
          removePaint(draw(resized, (_, text) => `<${text}>`).join("\n")),
          removePaint(lines.join("\n")),
        );
      }
    }
  }
});

const removePaint = (text: string) => text.replaceAll(/[<>]/g, "");

test("draw() shows the selected app at every height", () => {
  for (let rows = 1; rows <= 30; rows++) {
    const state = after(stateOf(manyApps(60), { rows }), "<page-down>", "<page-down>");
    const marked = draw(state).filter((line) => line.startsWith("> "));
    assert.equal(marked.length, 1, `${rows} rows`);
    assert.ok(marked[0]?.includes(state.selected ?? ""), `${rows} rows: ${marked[0]}`);
  }
});

test("draw() leaves out the less important columns on a narrow terminal, and marks the order", () => {
  const titles = (columns: number) =>
    draw(stateOf(strange, { columns })).find((line) => line.includes("APP"))?.trim().split(/\s+/);
  assert.deepEqual(titles(40), ["APP", "PHASE", "CPU▼"]);
  assert.deepEqual(titles(80), ["APP", "PHASE", "CPU▼", "MEM", "MiB", "RESTARTS", "AGE"]);
  assert.deepEqual(titles(200)?.slice(-3), ["SOURCE", "MESSAGE", "SCRIPT"]);
  const reversed = draw(after(stateOf(strange), "m", "R"));
  assert.ok(reversed.some((line) => /CPU +MEM▲/.test(line)), reversed.join("\n"));
});

test("draw() says why nothing is listed, and what to do", () => {
  assert.ok(draw(stateOf([])).includes("No apps."));
  const lines = draw(after(stateOf(manyApps(3)), "/", ..."zz", "<enter>"));
  assert.ok(lines.includes('No app matches "zz". Esc shows all 3.'), lines.join("\n"));
  assert.match(lines[0] ?? "", /^3 apps, 3 running.*only those with "zz"$/);
});

test("draw() colors phases, usage near the cap and the selected row", () => {
  const apps = [
    app("first", { cpuPCT: "50.0" }),
    app("calm", { cpuPCT: "10.0" }),
    app("near", { cpuPCT: "17.0" }),
    app("full", { cpuPCT: "19.9" }),
    app("bad", { phase: "BackOff", cpuPCT: "0.0" }),
  ];
  const lines = draw(stateOf(apps), (color, text) => `<${color}>${text.trim()}</>`);
  const row = (name: string) => lines.find((line) => line.includes(`default/${name}`)) ?? "";
  assert.match(row("first"), /^<inverse>> default\/first/);
  assert.match(row("near"), /<green>Running<\/> +<yellow>17\.0\/20%<\/>/);
  assert.match(row("full"), /<red>19\.9\/20%<\/>/);
  assert.match(row("bad"), /<red>BackOff<\/> +0\.0\/20%/);
});

test("draw() shows a log without colors and control characters, wrapped or cut", () => {
  const state = states.find(([name]) => name === "a log")![1];
  const lines = draw(state);
  assert.equal(lines[0], "Log of default/web (BackOff), following");
  assert.deepEqual(lines.slice(1, 9), [
    ..."日本".repeat(100).match(/.{40}/gu)!,
    "red    end",
    "100%",
    "no end yet",
  ]);
  const cut = draw(after(state, "w"));
  assert.match(cut[1] ?? "", /^日本.*…$/);
  assert.equal(cut[2], "red    end");
  assert.match(
    draw(after(state, { kind: "logEnd", app: "default/web", why: "no app" }))[0] ?? "",
    /, no app$/,
  );
});

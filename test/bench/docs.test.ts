import assert from "node:assert/strict";
import { test } from "node:test";
import { renderResults, replaceGenerated } from "../../bench/docs.ts";
import { addOutcome, type Outcome, type Results } from "../../bench/results.ts";

const machine = { cpus: 2, model: "Some CPU", memoryGB: 8, kernel: "6.1.0", node: "26.0.0" };
const outcome: Outcome = {
  about: "What it is about.",
  at: "2026-01-02T03:04:05.000Z",
  seconds: 61,
  othersPCT: 3,
  long: false,
  figures: [{ figure: "start", ours: 5, unit: "ms" }],
  charts: [],
};
const results: Results = { machine, outcomes: { starts: outcome } };

test("only the text between the marks is replaced", () => {
  const page = "# Title\n\n<!-- figures: written by bench/run.ts -->\nold\n<!-- figures: end -->\n\nmore\n";
  const first = replaceGenerated(page, "new");
  assert.match(first, /^# Title\n\n<!-- .* -->\n\nnew\n\n<!-- figures: end -->\n\nmore\n$/);
  assert.equal(replaceGenerated(first, "new"), first);
  assert.throws(() => replaceGenerated("# Title\n", "new"), /no part between/);
});

test("figures where a peer is ahead, and missed targets, come first", () => {
  const figures = [
    { figure: "memory", ours: 20, unit: "MB", peer: { what: "pm2", value: 10 } },
    { figure: "starts", ours: 1, unit: "s", peer: { what: "pm2", value: 2 } },
    { figure: "median", ours: 70, unit: "ms", asked: 60 },
  ];
  const text = renderResults({ machine, outcomes: { starts: { ...outcome, figures } } });
  assert.match(text, /### Where a peer is ahead\n\n- memory: 20\.0 MB, pm2 10\.0 MB\n\n###/);
  assert.match(text, /### Asked and not reached\n\n- median: 70\.0 ms, asked 60\.0 ms\n\n###/);
  assert.match(renderResults(results), /### Where a peer is ahead\n\n- nothing\n/);
});

test("a figure with several peers is one row", () => {
  const figures = [["pm2", 10], ["supervisor", 15]].map(([what, value]) => ({
    figure: "start",
    ours: 5,
    unit: "ms",
    peer: { what: String(what), value: Number(value) },
  }));
  const text = renderResults({ machine, outcomes: { starts: { ...outcome, figures } } });
  const row = "| start | 5.00 ms | 10.0 ms (pm2); 15.0 ms (supervisor) | 2.00 ×; 3.00 × |  |";
  assert.ok(text.includes(row), text);
});

test("a page marks the figures of a busy machine", () => {
  assert.match(
    renderResults({ machine, outcomes: { starts: { ...outcome, othersPCT: 47 } } }),
    /\*\*starts\*\*, .*\*\*busy\*\*: other work took 47%/,
  );
});

test("a page shows why a benchmark failed instead of its figures", () => {
  const text = renderResults({
    machine,
    outcomes: { starts: { ...outcome, figures: [], trouble: "no kube-apiserver" } },
  });
  assert.match(text, /not measured: no kube-apiserver/);
});

test("a benchmark that runs again replaces its own part only; another machine starts over", () => {
  const both = addOutcome(results, machine, "idle", outcome);
  assert.deepEqual(Object.keys(both.outcomes), ["starts", "idle"]);
  const again = addOutcome(both, machine, "starts", { ...outcome, seconds: 1 });
  assert.deepEqual([again.outcomes.starts?.seconds, again.outcomes.idle?.seconds], [1, 61]);
  assert.deepEqual(Object.keys(addOutcome(both, { ...machine, cpus: 64 }, "idle", outcome).outcomes), [
    "idle",
  ]);
});

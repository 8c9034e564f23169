/**
 * The results of tests that ran in a guest, replayed as tests of this process.
 *
 * Guarantees: each test of the guest becomes a subtest here, with its name, its notes, its failure and its skip reason, so that totals are right.
 * A guest that ends at its time limit or reports nothing is a failure that shows its output; it can never pass.
 * Caveats: results show when the guest has ended. The duration of a replayed test means nothing: a note names what took more than a
 * second in the guest.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ScriptResult } from "./delegated-cgroup.ts";
import type { Note, ReportedTest } from "./guest-reporter.ts";
import { checkout } from "./parts.ts";

/** The words for `node --test` in a guest: it prints, and writes its report to `$SHARE`. */
export const reporterFlags = [
  "--test-reporter=spec --test-reporter-destination=stdout",
  `--test-reporter='${join(checkout, "test/harness/guest-reporter.ts")}'`,
  '--test-reporter-destination="$SHARE/report"',
].join(" ");

type Result = ReportedTest & { subtests: Result[]; notes: string[] };
const longMs = 1000;

/** Replays the report that a guest with this result wrote to its share, and removes it. */
export async function replayReport(
  t: TestContext,
  share: string,
  { code, output, timedOut }: ScriptResult,
): Promise<void> {
  const file = join(share, "report");
  const report = await readFile(file, "utf8").catch(() => "");
  // The next boot of a machine writes its own.
  await rm(file, { force: true });
  const results = timedOut ? [] : asTree(report);
  for (const result of results) await replay(t, result);
  const explained = results.length > 0 &&
    (code === 0) === results.every((result) => result.passed || result.todo);
  if (explained) return;
  const what = timedOut ? "ended at its time limit" : `ended with code ${code} and ${results.length} results`;
  throw new Error(`the guest ${what}; its output:\n${output}`);
}

/** Parses the report into a tree: the more deeply nested lines right before a test are its subtests. */
function asTree(report: string): Result[] {
  const open: Result[][] = [];
  let last: Result | undefined;
  for (const line of report.split("\n").filter((line) => line !== "")) {
    const reported: ReportedTest | Note = JSON.parse(line);
    if ("note" in reported) {
      last?.notes.push(reported.note);
      continue;
    }
    const subtests = open[reported.nesting + 1] ?? [];
    open.length = Math.min(open.length, reported.nesting + 1);
    last = { ...reported, subtests, notes: [] };
    (open[reported.nesting] ??= []).push(last);
  }
  return open[0] ?? [];
}

async function replay(t: TestContext, result: Result): Promise<void> {
  const { name, skip, todo, error, durationMs } = result;
  await t.test(name, { skip: skip ?? false, todo: todo ?? false }, async (t) => {
    for (const subtest of result.subtests) await replay(t, subtest);
    for (const note of result.notes) t.diagnostic(note);
    if (durationMs > longMs) t.diagnostic(`${(durationMs / 1000).toFixed(1)}s in the guest: ${name}`);
    if (result.passed || error?.onlyBySubtests) return;
    const failure = new Error(error?.message ?? "failed in the guest");
    failure.stack = error?.stack ?? failure.message;
    throw failure;
  });
}

/**
 * Runs test files inside one guest and shows their results as tests of this process.
 *
 * Guarantees: each test of a file becomes a subtest here, with its name, its failure and its skip reason, so
 * that totals are right. A guest that crashes, ends at its time limit or reports nothing is a failure that
 * shows its output; it can never pass.
 * Caveats: results show when the guest has ended; durations are those of the replay. Files for a guest are kept
 * in test/guest/inside/ and are not named *.test.ts, so that no runner picks them up on the host.
 */
import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { test, type TestContext } from "node:test";
import type { ReportedTest } from "./guest-reporter.ts";
import { compileCache } from "../../tools/test/program.ts";
import { tempFolder } from "../temp-folder.ts";
import { putGuestProgram } from "./guest-program.ts";
import { type GuestOptions, inGuest } from "./guest.ts";
import { checkout, skipUnlessKernel } from "./parts.ts";

/** Options of the tests. */
export type GuestTestsOptions = Omit<GuestOptions, "share"> & {
  /** Whether they run the program: it is bundled, and NCKUBELET_BIN names it. */
  program?: boolean;
};

/** Registers one test that runs the files (paths from the checkout) in one guest, with a subtest per result. */
export function runTestsInGuest(files: string[], options: GuestTestsOptions = {}): void {
  const name = `in a guest: ${files.map((file) => relative(checkout, join(checkout, file))).join(", ")}`;
  test(name, { skip: skipUnlessKernel(options.features ?? []) }, (t) => replayGuest(t, files, options));
}

// A test that hangs fails by its name, before the whole guest ends at its limit.
const testTimeoutMs = 120_000;

type Result = ReportedTest & { subtests: Result[] };

async function replayGuest(
  t: TestContext,
  files: string[],
  { program = false, ...options }: GuestTestsOptions,
): Promise<void> {
  using temp = tempFolder();
  const share = temp.path;
  if (program) await putGuestProgram(share);
  const timeoutMs = options.timeoutMs ?? 300_000;
  const { code, output, timedOut } = await inGuest(testCommand(files, program, timeoutMs), {
    ...options,
    timeoutMs,
    share,
  });
  const report = await readFile(join(share, "report"), "utf8").catch(() => "");
  const results = timedOut ? [] : asTree(report);
  for (const result of results) await replay(t, result);
  const explained = results.length > 0 &&
    (code === 0) === results.every((result) => result.passed || result.todo);
  if (!explained) {
    const what = timedOut
      ? "ended at its time limit"
      : `ended with code ${code} and ${results.length} results`;
    throw new Error(`the guest ${what}; its output:\n${output}`);
  }
}

function testCommand(files: string[], program: boolean, timeoutMs: number): string {
  const reporter = join(checkout, "test/harness/guest-reporter.ts");
  const quoted = files.map((file) => `'${join(checkout, file)}'`).join(" ");
  // A process per file costs seconds in User-Mode Linux; a single file does not need one.
  const isolation = files.length === 1 ? "none" : "process";
  // Earlier tests on the host filled this cache; what the guest compiles itself is lost with it.
  return `${showProcessesAfter(timeoutMs - 45_000)} export NODE_COMPILE_CACHE='${compileCache}'; ${
    program ? 'export NCKUBELET_BIN="$SHARE/nckubelet"; ' : ""
  }exec node --test --test-isolation=${isolation} --test-timeout=${testTimeoutMs} --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter='${reporter}' --test-reporter-destination="$SHARE/report" ${quoted}`;
}

/** Shortly before its time limit, the guest prints what each of its processes waits for. */
function showProcessesAfter(ms: number): string {
  return `( sleep ${
    Math.round(ms / 1000)
  }; echo 'the guest hangs; its processes:'; cd /proc; for pid in [0-9]*; do
      words=$(tr '\\0' ' ' < $pid/cmdline | cut -c 1-200); [ -z "$words" ] ||
        echo "$(cut -c 1-50 < $pid/stat) in $(cat $pid/wchan): $words"
    done 2>/dev/null ) & disown;`;
}

/** Parses the report into a tree: the more deeply nested lines right before a test are its subtests. */
export function asTree(report: string): Result[] {
  const open: Result[][] = [];
  for (const line of report.split("\n").filter((line) => line !== "")) {
    const reported: ReportedTest = JSON.parse(line);
    const subtests = open[reported.nesting + 1] ?? [];
    open.length = Math.min(open.length, reported.nesting + 1);
    (open[reported.nesting] ??= []).push({ ...reported, subtests });
  }
  return open[0] ?? [];
}

async function replay(t: TestContext, result: Result): Promise<void> {
  const { skip, todo, error } = result;
  await t.test(result.name, { skip: skip ?? false, todo: todo ?? false }, async (t) => {
    for (const subtest of result.subtests) await replay(t, subtest);
    if (result.passed || error?.onlyBySubtests) return;
    const failure = new Error(error?.message ?? "failed in the guest");
    failure.stack = error?.stack ?? failure.message;
    throw failure;
  });
}

/**
 * The reporter of the test runs: a line for the runner per test as soon as it ends, a failure with its message at once, a line per
 * file, and the totals at the end. The output of a file is shown only if it failed. On SIGINT it names the tests that are still open,
 * and the totals are those of the tests that ended.
 */
import { relative, resolve } from "node:path";
import process from "node:process";
import { inspect } from "node:util";
import { countOwnTime, type EndedTest, joinNames } from "./ended-test.ts";
import { formatTotals, sumTotals, type Totals } from "./totals.ts";

interface TestEvent {
  type: string;
  data: {
    name: string;
    nesting: number;
    /** Unique in the process that runs `entryFile`. */
    testId: number;
    parentId: number;
    /** The file that the process runs: it imports `file`, or is the same. Missing in events about a whole file. */
    entryFile?: string;
    file?: string;
    message: string;
    skip?: string | boolean;
    todo?: string | boolean;
    details: {
      duration_ms: number;
      passed?: boolean;
      type?: string;
      error?: Error & { failureType?: string };
    };
    duration_ms: number;
    counts: Counts;
  };
}

type Counts = { passed: number; failed: number; cancelled: number; skipped: number; todo: number };

/** What begins a line with an `EndedTest` as JSON. */
export const endedMark = "#test ";

const maxErrorLines = 40;
const maxLineLength = 300;

/** The reporter that `--test-reporter` loads. */
export default async function* reporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const printed = new Map<string, string>();
  /** The files of which any test or group was reported. */
  const reported = new Set<string | undefined>();
  /** What the summary of Node gets wrong. */
  const missed: Totals = { passed: 0, failed: 0, skipped: 0 };
  const open = new Map<string, { names: string[]; file: string }>();
  const counted: Totals = { passed: 0, failed: 0, skipped: 0 };
  const ownTime = countOwnTime();
  for await (const { type, data } of source) {
    const file = data?.file ? relative(process.cwd(), data.file) : "";
    switch (type) {
      case "test:stdout":
      case "test:stderr":
        printed.set(file, (printed.get(file) ?? "") + data.message);
        break;
      // Unlike test:start, test:pass and test:fail, these two come at once, also while an earlier file is still running.
      case "test:dequeue": {
        const names = [...open.get(keyOf(data, data.parentId))?.names ?? [], data.name];
        open.set(keyOf(data), { names, file });
        break;
      }
      case "test:complete": {
        const { names = [data.name] } = open.get(keyOf(data)) ?? {};
        open.delete(keyOf(data));
        if (isFile(data)) {
          // Node counts a file without tests as a passed test.
          if (data.details.passed && !reported.has(data.file)) missed.passed--;
          break;
        }
        reported.add(data.entryFile);
        const test = asEnded(data, names, testFile(data));
        test.ownMs = ownTime(keyOf(data), keyOf(data, data.parentId), data.details.duration_ms);
        if (test.counts) counted[test.result]++;
        // Node does not count a skipped group, whose tests nobody knows.
        if (test.counts && data.details.type === "suite") missed.skipped++;
        yield `${endedMark}${asciiJson(test)}\n`;
        if (test.result === "failed") yield* describeFailure(data, names, test.file);
        break;
      }
      case "test:interrupted":
        // No summary follows.
        for (const { names, file } of open.values()) yield `  open  ${joinNames(names)}  (${file})\n`;
        yield `${formatTotals({ ...counted, failed: counted.failed + 1 })}\n`;
        break;
      case "test:fail":
        // A file that failed before its first test counts as a test, and has no summary.
        if (!isFile(data)) break;
        yield* describeFailure(data, [data.name], file);
        yield indent(printed.get(file) ?? "");
        break;
      case "test:diagnostic":
        // Summaries without a file repeat the totals.
        if (file) yield `  note  ${data.message}\n`;
        break;
      case "test:summary":
        if (!file) {
          yield `${formatTotals(sumTotals([asTotals(data.counts), missed]))}\n`;
          break;
        }
        yield describeFile(data, file);
        if (failures(data.counts) > 0) yield indent(printed.get(file) ?? "");
        printed.delete(file);
        break;
    }
  }
}

function keyOf({ entryFile, testId }: TestEvent["data"], id = testId): string {
  return `${entryFile ?? ""}:${id}`;
}

/** The file to run again: tests may be written in one that others import, and test files run in groups. */
function testFile({ entryFile = "", file = entryFile }: TestEvent["data"]): string {
  return relative(process.cwd(), entryFile.endsWith(".test.ts") ? entryFile : file);
}

/** Its own time is yet to be set. */
function asEnded({ skip, todo, details }: TestEvent["data"], names: string[], file: string): EndedTest {
  const left = skip || todo;
  return {
    name: joinNames(names),
    file,
    result: left ? "skipped" : details.passed ? "passed" : "failed",
    reason: typeof left === "string" ? left : undefined,
    ownMs: 0,
    counts: details.type !== "suite" || Boolean(left),
  };
}

/** Reports whether an event is about a whole file. */
function isFile({ name, file }: TestEvent["data"]): boolean {
  return resolve(name) === file;
}

/** In ASCII: some readers of lines take U+2028 for the end of one. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function describeFile({ counts, duration_ms }: TestEvent["data"], file: string): string {
  const failed = failures(counts);
  const tests = testsIn(counts);
  const count = failed > 0 ? `${failed} of ${tests} failed` : `${tests} ${tests === 1 ? "test" : "tests"}`;
  return `${failed > 0 ? "FAIL" : "ok"}  ${file}  ${count}, ${seconds({ duration_ms })}\n`;
}

function* describeFailure({ details }: TestEvent["data"], path: string[], file: string): Generator<string> {
  const { error } = details;
  if (error?.failureType === "subtestsFailed") return;
  yield `  FAIL  ${joinNames(path)}  (${file})\n`;
  const cause = error?.cause ?? error;
  const text = cause instanceof Error ? cause.stack ?? cause.message : inspect(cause);
  yield indent(text.split("\n").slice(0, maxErrorLines).map(cut).join("\n"));
}

function asTotals(counts: Counts): Totals {
  return { passed: counts.passed, failed: failures(counts), skipped: counts.skipped + counts.todo };
}

function testsIn(counts: Counts): number {
  return counts.passed + failures(counts) + counts.skipped + counts.todo;
}

/** A canceled test ended at its time limit, or with its parent. */
function failures(counts: Counts): number {
  return counts.failed + counts.cancelled;
}

function cut(line: string): string {
  return line.length > maxLineLength ? `${line.slice(0, maxLineLength)} … (${line.length} characters)` : line;
}

function indent(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, "        ").concat(text ? "\n" : "");
}

function seconds({ duration_ms }: { duration_ms: number }): string {
  return `${(duration_ms / 1000).toFixed(1)}s`;
}

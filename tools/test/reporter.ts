/**
 * The reporter of the test runs: a line per file, another for each test that took long, was skipped, has diagnostics or failed, and
 * the totals at the end. The output of a file is shown only if it failed. On SIGINT it names the tests that are still open, and the
 * totals are those of the tests that ended.
 */
import { relative, resolve } from "node:path";
import process from "node:process";
import { inspect } from "node:util";
import { formatTotals, type Totals } from "./totals.ts";

interface TestEvent {
  type: string;
  data: {
    name: string;
    nesting: number;
    file?: string;
    message: string;
    skip?: string | boolean;
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

/** A test or suite that has started and not ended. */
const keyOf = ({ file, nesting, name }: TestEvent["data"]) => `${file}:${nesting}:${name}`;

type Counts = { passed: number; failed: number; cancelled: number; skipped: number; todo: number };

const longMs = 1000;
const maxErrorLines = 40;
const maxLineLength = 300;

/** The reporter that `--test-reporter` loads. */
export default async function* reporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const printed = new Map<string, string>();
  const path: string[] = [];
  let empty = 0;
  const open = new Map<string, string>();
  const paths = new Map<string, string[]>();
  const counted: Totals = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of source) {
    const file = data?.file ? relative(process.cwd(), data.file) : "";
    switch (type) {
      case "test:stdout":
      case "test:stderr":
        printed.set(file, (printed.get(file) ?? "") + data.message);
        break;
      // Unlike test:start and test:pass, these two come at once, also while an earlier file is still running.
      case "test:dequeue": {
        const names = (paths.get(file) ?? []).slice(0, data.nesting);
        paths.set(file, [...names, data.name]);
        open.set(keyOf(data), [...names, data.name].join(" > "));
        break;
      }
      case "test:complete":
        open.delete(keyOf(data));
        if (isFile(data) || data.details.type === "suite") break;
        counted[data.skip ? "skipped" : data.details.passed ? "passed" : "failed"]++;
        break;
      case "test:interrupted":
        // No summary follows.
        for (const [key, name] of open) {
          yield `  open  ${name}  (${relative(process.cwd(), key.split(":")[0]!)})\n`;
        }
        yield `${formatTotals({ ...counted, failed: counted.failed + 1 })}\n`;
        break;
      case "test:start":
        path.length = data.nesting;
        path.push(data.name);
        break;
      case "test:pass":
        if (data.skip) {
          yield `  skip  ${path.join(" > ")}: ${data.skip === true ? "no reason given" : data.skip}\n`;
        } else if (data.details.duration_ms > longMs) {
          yield `  ok    ${path.join(" > ")}  ${seconds(data.details)}\n`;
        }
        path.length = data.nesting;
        break;
      case "test:fail":
        path.length = data.nesting;
        yield* describeFailure(data, [...path, data.name], file);
        // A file that failed before its first test counts as a test, and has no summary.
        if (isFile(data)) yield indent(printed.get(file) ?? "");
        break;
      case "test:diagnostic":
        // Summaries without a file repeat the totals.
        if (file) yield `  note  ${data.message}\n`;
        break;
      case "test:summary":
        if (!file) {
          yield `${formatTotals(asTotals(data.counts, empty))}\n`;
          break;
        }
        yield describeFile(data, file);
        if (failures(data.counts) > 0) yield indent(printed.get(file) ?? "");
        if (testsIn(data.counts) === 0) empty++;
        printed.delete(file);
        break;
    }
  }
}

/** Reports whether an event is about a whole file. */
function isFile({ name, file }: TestEvent["data"]): boolean {
  return resolve(name) === file;
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
  yield `  FAIL  ${path.join(" > ")}  (${file})\n`;
  const cause = error?.cause ?? error;
  const text = cause instanceof Error ? cause.stack ?? cause.message : inspect(cause);
  yield indent(text.split("\n").slice(0, maxErrorLines).map(cut).join("\n"));
}

/** Node counts a file without tests as a passed test. */
function asTotals(counts: Counts, emptyFiles: number): Totals {
  return {
    passed: counts.passed - emptyFiles,
    failed: failures(counts),
    skipped: counts.skipped + counts.todo,
  };
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

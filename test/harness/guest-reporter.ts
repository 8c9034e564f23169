/**
 * A reporter for `node --test` that writes each result as a line of JSON, to export results from a guest.
 * Children come before their parent, as node:test reports them.
 */

/** One finished test, as a line of the report. */
export type ReportedTest = {
  name: string;
  nesting: number;
  passed: boolean;
  durationMs: number;
  skip?: string | boolean;
  todo?: string | boolean;
  error?: { message: string; stack?: string; onlyBySubtests: boolean };
};

/** A diagnostic message of the test before it. */
export type Note = { note: string };

type TestEvent = { type: string; data: TestEventData };
type TestEventData = {
  name: string;
  nesting: number;
  file?: string;
  message: string;
  skip?: string | boolean;
  todo?: string | boolean;
  details: { duration_ms: number; error?: Error & { failureType?: string } };
};

/** The reporter that `--test-reporter` loads. */
export default async function* guestReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if (type === "test:pass" || type === "test:fail") yield asLine(reported(type, data));
    // Those without a file are the totals.
    else if (type === "test:diagnostic" && data.file) yield asLine({ note: data.message });
  }
}

function asLine(line: ReportedTest | Note): string {
  return `${JSON.stringify(line)}\n`;
}

function reported(type: string, { name, nesting, skip, todo, details }: TestEventData): ReportedTest {
  const result = { name, nesting, passed: type === "test:pass", durationMs: details.duration_ms, skip, todo };
  if (result.passed || !details.error) return result;
  // node:test wraps the error of the test.
  const cause = details.error.cause instanceof Error ? details.error.cause : details.error;
  const error = {
    message: cause.message,
    stack: cause.stack,
    onlyBySubtests: details.error.failureType === "subtestsFailed",
  };
  return { ...result, error };
}

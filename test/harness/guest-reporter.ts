/**
 * A reporter for `node --test` that writes each result as a line of JSON, to export results from a guest.
 * Children come before their parent, as node:test reports them.
 */

/** One finished test, as a line of the report. */
export type ReportedTest = {
  name: string;
  nesting: number;
  passed: boolean;
  skip?: string | boolean;
  todo?: string | boolean;
  error?: { message: string; stack?: string; onlyBySubtests: boolean };
};

type TestEvent = { type: string; data: TestEventData };
type TestEventData = {
  name: string;
  nesting: number;
  skip?: string | boolean;
  todo?: string | boolean;
  details: { error?: Error & { failureType?: string } };
};

/** The reporter that `--test-reporter` loads. */
export default async function* guestReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if (type === "test:pass" || type === "test:fail") yield JSON.stringify(reported(type, data)) + "\n";
  }
}

function reported(type: string, { name, nesting, skip, todo, details }: TestEventData): ReportedTest {
  const passed = type === "test:pass";
  if (passed || !details.error) return { name, nesting, passed, skip, todo };
  // node:test wraps the error of the test.
  const cause = details.error.cause instanceof Error ? details.error.cause : details.error;
  const error = {
    message: cause.message,
    stack: cause.stack,
    onlyBySubtests: details.error.failureType === "subtestsFailed",
  };
  return { name, nesting, passed, skip, todo, error };
}

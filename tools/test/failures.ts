/** Collects the failures of suites, to repeat them at the end of a long run. */

/** The maximum number of repeated lines per failure: its message and the first frames of its stack. */
const maxLines = 15;

/** Picks the lines of failures from the output of a suite, in the formats of this project's reporter and Deno's. */
export function collectFailures(): { hear(line: string): void; lines: string[] } {
  const lines: string[] = [];
  let left = 0;
  let inErrors = false;
  return {
    lines,
    hear(line) {
      if (/^ (?:ERRORS|FAILURES) $/.test(line)) {
        inErrors = line === " ERRORS ";
        left = 0;
        return;
      }
      const begins = inErrors ? / => \S+:\d+:\d+$/.test(line) : /^ *FAIL {2}/.test(line);
      if (begins) left = maxLines;
      else if (!inErrors && line !== "" && !line.startsWith(" ".repeat(8))) left = 0;
      if (left-- > 0 && line.trim() !== "") lines.push(line);
    },
  };
}

/** Writes what is going on as one line per step, for the bottom of a terminal. */

/** A suite that runs, or a part that is installed. */
export interface Step {
  title: string;
  startedMs: number;
  /** How long it took in an earlier run. */
  expectedMs?: number;
  /** How many tests ended, and of how many in an earlier run. */
  tests?: { done: number; of?: number };
  /** The newest thing that it did. */
  newest?: string;
}

/** Returns a line for each step, cut to the width of the terminal. */
export function liveLines(steps: Step[], nowMs: number, width: number): string[] {
  const longest = Math.max(0, ...steps.map(({ title }) => title.length));
  return steps.map((step) => {
    const words = [step.title.padEnd(longest), progress(step), time(step, nowMs), step.newest];
    return cut(words.filter((word) => word).join("  "), width);
  });
}

function progress({ tests }: Step): string {
  if (!tests) return "";
  const { done, of = 0 } = tests;
  return of >= done && of > 0 ? `${done} of ${of} tests` : `${done} ${done === 1 ? "test" : "tests"}`;
}

function time({ startedMs, expectedMs }: Step, nowMs: number): string {
  const elapsed = clock(nowMs - startedMs);
  return expectedMs === undefined ? elapsed : `${elapsed} of about ${clock(expectedMs)}`;
}

/** Formats 65 s as `1:05`. */
function clock(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

// A full line would make some terminals wrap. Control characters in a name would move the cursor.
function cut(line: string, width: number): string {
  const characters = [...line.replace(/[\x00-\x1f\x7f-\x9f]/g, " ")];
  const space = Math.max(1, width - 1);
  return characters.length <= space ? characters.join("") : `${characters.slice(0, space - 1).join("")}…`;
}

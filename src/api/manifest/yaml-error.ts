/** What is wrong with a text that is not YAML, in words that say what to do. */

/** Parts of the parser's messages, and what they mean to the author of a manifest. */
const meanings: [RegExp, string][] = [
  [/tab characters/, "indented with a tab: use spaces"],
  [
    /multiline key|implicit key|block mapping entry|end of the stream or a document separator/,
    'expected "key: value": a colon is missing here or on the line before',
  ],
  [/expected ':' after a mapping key/, 'expected "key: value": a colon is missing here, or a space after it'],
  [/whitespace character is expected after/, "a space is missing after the colon"],
  [/deficient indentation/, "a bracket is not closed, or a line is not indented enough"],
  [/bad indentation/, "the indentation differs from that of the lines around it"],
  [/flow collection|missed comma|valid JSON/, "a comma or a closing bracket is missing in [ ] or { }"],
  [/within a (single|double) quoted/, "a closing quote is missing"],
  [
    /unknown escape|hexadecimal character/,
    "a backslash in double quotes starts an escape: use single quotes",
  ],
  [/duplicated mapping key/, "a field is given twice: keep one"],
  [/unidentified alias|anchor/, "an alias (*name) has no anchor (&name)"],
  [/null byte|non-printable/, "contains characters that are no text"],
  [/unknown tag|tag/, "custom tags (!name) are not supported"],
];

/** Returns the meaning of a message of the parser, or the message if it is unknown. */
export function explainYAML(reason: string): string {
  return meanings.find(([pattern]) => pattern.test(reason))?.[1] ?? reason;
}

/** Returns the same for an error in this text, with the name of the field and the line, counted from 0, where that is known. */
export function explainYAMLError(
  { reason, mark }: { reason: string; mark?: { line: number; column: number } },
  text: string,
): { problem: string; line: number } {
  const line = mark?.line ?? 0;
  const lines = text.split("\n");
  if (/duplicated mapping key/.test(reason)) {
    const [, name] = /^["']?([\w./-]{1,100})["']?\s*:/.exec((lines[line] ?? "").slice(mark?.column)) ?? [];
    if (name) return { problem: `the field ${JSON.stringify(name)} is given twice: keep one`, line };
  }
  const opened = /deficient indentation|quoted|end of the stream/.test(reason)
    ? findOpenQuote(lines, line)
    : -1;
  if (opened >= 0) return { problem: "a quote is not closed on this line", line: opened };
  return { problem: explainYAML(reason), line };
}

/** How far above the error a quote may have been opened. */
const quoteLines = 50;

/** Returns the line above, or of, an error in which a value starts with a quote that it does not close; -1 if there is none. */
function findOpenQuote(lines: string[], error: number): number {
  for (let line = Math.min(error, lines.length - 1); line >= Math.max(0, error - quoteLines); line--) {
    // Values that are closed are cut out; then a quote at the start of a value opens one.
    const rest = (lines[line] ?? "").replaceAll(/"(?:\\.|[^"\\])*"|'[^']*'/g, "0");
    if (/(^|[:,[{-]\s*)["']/.test(rest)) return line;
  }
  return -1;
}

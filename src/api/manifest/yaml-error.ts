/** What is wrong with a text that is not YAML, in words that say what to do. */

/** Parts of the parser's messages, and what they mean to the author of a manifest. */
const meanings: [RegExp, string][] = [
  [/tab characters/, "indented with a tab: use spaces"],
  [
    /multiline key|implicit key|block mapping entry|end of the stream or a document separator/,
    'expected "key: value": a colon is missing here or on the line before',
  ],
  [/whitespace character is expected after/, "a space is missing after the colon"],
  [/deficient indentation/, "a bracket is not closed, or a line is not indented enough"],
  [/bad indentation/, "the indentation differs from that of the lines around it"],
  [/flow collection|missed comma|valid JSON/, "a comma or a closing bracket is missing in [ ] or { }"],
  [/within a (single|double) quoted/, "a closing quote is missing"],
  [
    /unknown escape|hexadecimal character/,
    "a backslash in double quotes starts an escape: use single quotes",
  ],
  [/duplicated mapping key/, "a field is given twice"],
  [/unidentified alias|anchor/, "an alias (*name) has no anchor (&name)"],
  [/null byte|non-printable/, "contains characters that are no text"],
  [/unknown tag|tag/, "custom tags (!name) are not supported"],
];

/** Returns the meaning of a message of the parser, or the message if it is unknown. */
export function explainYAML(reason: string): string {
  return meanings.find(([pattern]) => pattern.test(reason))?.[1] ?? reason;
}

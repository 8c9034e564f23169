/**
 * What a terminal sends, as keys. Pure.
 *
 * A key is the character that was typed, or a name in angle brackets: `q`, `<up>`, `<ctrl-c>`.
 */

const controls: Record<string, string> = {
  "\r": "<enter>",
  "\n": "<enter>",
  "\x7f": "<backspace>",
  "\b": "<backspace>",
  "\x03": "<ctrl-c>",
  "\x15": "<ctrl-u>",
  "\x1a": "<ctrl-z>",
};

/** The end of an escape sequence, without modifiers. Terminals differ in how they send Home and End. */
const sequences: Record<string, string> = {
  A: "<up>",
  B: "<down>",
  C: "<right>",
  D: "<left>",
  H: "<home>",
  F: "<end>",
  "1~": "<home>",
  "7~": "<home>",
  "4~": "<end>",
  "8~": "<end>",
  "5~": "<page-up>",
  "6~": "<page-down>",
};

const escape = "\x1b";
const sequence = /^\x1b(?:\[([0-9;?<>=]*[ -/]*[@-~])|O([@-~]))/;
const started = /^\x1b(?:\[[0-9;?<>=]*[ -/]*|O)?$/;
const longestSequence = 32;

export interface Decoded {
  keys: string[];
  /** The start of an escape sequence: decode it together with what comes next. A lone one is the Escape key. */
  rest: string;
}

/** Returns the keys in text from a terminal; unknown sequences and control characters are left out. */
export function decodeKeys(text: string): Decoded {
  const keys: string[] = [];
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at, at + longestSequence);
    if (rest.startsWith(escape)) {
      if (rest.length < longestSequence && started.test(rest)) return { keys, rest };
      const [whole = escape, csi, ss3] = sequence.exec(rest) ?? [];
      const name = whole === escape
        ? "<escape>"
        : sequences[(csi ?? ss3 ?? "").replace(/^1;\d+(?=[A-Z])/, "")];
      if (name) keys.push(name);
      at += whole.length;
    } else {
      const character = String.fromCodePoint(text.codePointAt(at)!);
      const key = controls[character] ?? (/[\x00-\x1f\x7f-\x9f]/.test(character) ? undefined : character);
      if (key) keys.push(key);
      at += character.length;
    }
  }
  return { keys, rest: "" };
}

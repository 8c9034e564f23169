/**
 * Parses files of variables as systemd does (EnvironmentFile= in systemd.exec(5)): `NAME=VALUE` lines, and comments that begin with `#` or
 * `;`. A value in single quotes is taken as it is, one in double quotes has the escapes of sh, and both may span lines. Elsewhere a
 * backslash takes the next character as it is, and at the end of a line joins the next one. Nothing is expanded. Pure.
 *
 * Of two values of a name, the later counts. `export NAME=VALUE` is accepted, too: files of shells have it. Results name lines and
 * names, and problems never quote the text, which may be a secret.
 */

export interface EnvFile {
  variables: [name: string, value: string][];
  /** Lines without an assignment that sh would accept, such as a command or a name alone. systemd skips them. */
  others: { line: number; text: string }[];
}

/** A value that does not end; names the line where it starts. */
export class UnclosedQuoteError extends Error {
  override name = "UnclosedQuoteError";
  constructor(line: number) {
    super(`line ${line}: a quote is not closed`);
  }
}

export function parseEnvFile(text: string): EnvFile {
  const rest: Rest = { text: text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n"), at: 0, line: 1 };
  const variables = new Map<string, string>();
  const others: EnvFile["others"] = [];
  while (rest.at < rest.text.length) {
    const { at, line } = rest;
    const end = rest.text.indexOf("\n", at);
    const first = rest.text.slice(at, end < 0 ? undefined : end);
    const [head = "", name] = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=/.exec(first) ?? [];
    if (name !== undefined) {
      rest.at += head.length;
      variables.set(name, takeValue(rest));
      continue;
    }
    if (!/^\s*([#;]|$)/.test(first)) others.push({ line, text: first.trim() });
    rest.at += first.length + 1;
    rest.line++;
  }
  return { variables: [...variables], others };
}

/** What is left to parse. It is read character by character: no file of a user may take more than linear time. */
interface Rest {
  text: string;
  at: number;
  line: number;
}

/** Takes a value and the end of its line. */
function takeValue(rest: Rest): string {
  while (/[^\S\n]/.test(rest.text[rest.at] ?? "")) rest.at++;
  const quote = rest.text[rest.at];
  const quoted = quote === "'" || quote === '"' ? takeQuoted(rest, quote) : "";
  // What follows a closing quote belongs to the value, as in sh.
  return quoted + takePlain(rest);
}

function takeQuoted(rest: Rest, quote: string): string {
  const start = rest.line;
  const taken: string[] = [];
  for (rest.at++; rest.at < rest.text.length; rest.at++) {
    const char = rest.text[rest.at]!;
    const next = rest.text[rest.at + 1];
    if (char === "\n") rest.line++;
    if (char === quote) {
      rest.at++;
      return taken.join("");
    }
    if (char !== "\\" || quote === "'" || next === undefined || !'"\\`$\n'.includes(next)) taken.push(char);
    else {
      rest.at++;
      if (next === "\n") rest.line++;
      else taken.push(next);
    }
  }
  throw new UnclosedQuoteError(start);
}

/** White space at the end does not count, unless a backslash escapes it. */
function takePlain(rest: Rest): string {
  const taken: string[] = [];
  let length = 0;
  for (; rest.at < rest.text.length; rest.at++) {
    const char = rest.text[rest.at]!;
    if (char === "\n") {
      rest.at++;
      rest.line++;
      break;
    }
    if (char === "\\") {
      const next = rest.text[++rest.at];
      if (next === "\n") rest.line++;
      else if (next !== undefined) length = taken.push(next);
    } else {
      taken.push(char);
      if (!/\s/.test(char)) length = taken.length;
    }
  }
  return taken.slice(0, length).join("");
}

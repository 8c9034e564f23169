/**
 * Reads just enough TypeScript to find imports and names in it without being fooled by comments, strings and patterns.
 */

/** A source with comments blanked out; `names` has the text in quotes blanked out too. Both keep every position. */
export interface SourceText {
  code: string;
  names: string;
}

// A pattern can stand where a value begins: at the start, after an operator or after such a word.
const beforePattern =
  /(?:^|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|await|yield|void|throw))\s*$/;
const tokens: RegExp[] = [
  /\/\/[^\n]*/y,
  /\/\*[\s\S]*?\*\//y,
  /"(?:[^"\\\n]|\\[\s\S])*"/y,
  /'(?:[^'\\\n]|\\[\s\S])*'/y,
];
const pattern = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;

/** Blanks out what is no code. */
export function readSource(source: string): SourceText {
  let [code, names, at] = ["", "", 0];
  // Depth of braces at each `${` that is open: where a template goes on.
  const open: number[] = [];
  let depth = 0;
  const take = (text: string, isCode: boolean, isName: boolean) => {
    code += isCode ? text : blank(text);
    names += isName ? text : blank(text);
    at += text.length;
  };
  const takeTemplate = () => {
    const text = matchAt(/(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)?/y, source, at);
    take(text, false, false);
    if (text.endsWith("${")) open.push(depth);
  };
  while (at < source.length) {
    const char = source[at] ?? "";
    const token = tokens.map((token) => matchAt(token, source, at)).find((text) => text !== "");
    if (token) take(token, token[0] !== "/", false);
    else if (char === "/" && beforePattern.test(code) && matchAt(pattern, source, at)) {
      take(matchAt(pattern, source, at), false, false);
    } else if (char === "`") {
      take(char, false, false);
      takeTemplate();
    } else if (char === "}" && open.at(-1) === depth) {
      open.pop();
      take(char, false, false);
      takeTemplate();
    } else {
      if (char === "{") depth++;
      if (char === "}") depth--;
      take(char, true, true);
    }
  }
  return { code, names };
}

/** The modules that a source names in imports and exports of every kind, in order. */
export function importsOf(code: string): string[] {
  const statements =
    /\b(?:import|export)\b[\s\w{},*$]*?\bfrom\s*(["'])(.*?)\1|\bimport\s*(["'])(.*?)\3|\bimport\s*\(\s*(["'])(.*?)\5/g;
  return [...code.matchAll(statements)].map((match) => match[2] ?? match[4] ?? match[6] ?? "");
}

function matchAt(token: RegExp, source: string, at: number): string {
  token.lastIndex = at;
  return token.exec(source)?.[0] ?? "";
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

/**
 * A small text file that other programs replace: tokens, certificates and keys.
 *
 * Guarantees: the next `read()` sees a changed file. While the file is missing, unreadable or empty (it is being replaced),
 * the last good content stays in use; before the first one, this is an error that names the file.
 */
import { readFile, stat } from "node:fs/promises";

export interface ChangingFile {
  read(): Promise<string>;
  /** Makes the next `read()` read the content even if the file seems unchanged. */
  forget(): void;
}

/** `what` names the file in errors, such as `token file`. */
export function changingFile(path: string, what: string): ChangingFile {
  let content: string | undefined;
  let stamp = "";
  return {
    async read() {
      try {
        const current = await stampOf(path);
        if (content !== undefined && current === stamp) return content;
        content = nonEmpty(await readFile(path, "utf8"));
        stamp = current;
      } catch (cause) {
        if (content === undefined) {
          throw new Error(`cannot read ${what} ${path}: ${(cause as Error).message}`, { cause });
        }
      }
      return content;
    },
    forget() {
      stamp = "";
    },
  };
}

/** Returns a text that changes when the file is written or replaced. */
export async function stampOf(path: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(path);
  return `${mtimeMs}/${size}/${ino}`;
}

function nonEmpty(text: string): string {
  if (!text.trim()) throw new Error("it is empty");
  return text;
}

/**
 * A small text file that others replace: tokens, certificates and keys.
 *
 * Guarantees: a changed file is seen by the next `read()`; a file that is missing, unreadable or empty at that moment (it is
 * being replaced) leaves the last good content in use. Before there is any, it is an error that names the file.
 */
import { readFile, stat } from "node:fs/promises";

export interface ChangingFile {
  readonly path: string;
  read(): Promise<string>;
  /** Makes the next `read()` look at the content even if the file seems unchanged. */
  forget(): void;
}

/** `what` names the file in errors, such as `token file`. */
export function changingFile(path: string, what: string): ChangingFile {
  let content: string | undefined;
  let stamp = "";
  return {
    path,
    async read() {
      try {
        const { mtimeMs, size, ino } = await stat(path);
        const current = `${mtimeMs}/${size}/${ino}`;
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

function nonEmpty(text: string): string {
  if (!text.trim()) throw new Error("it is empty");
  return text;
}

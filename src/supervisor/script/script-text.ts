/**
 * What the first bytes of a script say, and what has to be mended of a text that an editor on Windows wrote. Pure.
 *
 * The first line decides: where it ends in CR LF, all lines are taken to. A text whose first line ends in LF keeps every CR,
 * since they may be meant, as in a here-document.
 */
import { Buffer } from "node:buffer";
import { basename } from "node:path";

export interface ScriptHead {
  isELF: boolean;
  /** UTF-16, which no interpreter takes. */
  isUTF16: boolean;
  /** It begins with a byte order mark, or its first line ends in CR LF: kernel and shells would stumble. */
  needsMending: boolean;
  /** The interpreter of the first line with its one argument, if it has one; undefined without a `#!`. */
  shebang?: string[];
}

/** As much as holds the first line: the kernel itself reads 256 bytes. */
export const headBytes = 4096;

const mark = "\xef\xbb\xbf";

/** Reads the head of a file, of up to `headBytes`. */
export function readHead(head: Uint8Array): ScriptHead {
  const text = asBytes(head);
  const [, bom, first = "", end] = /^(\xef\xbb\xbf)?([^\n]*?)(\r?\n|$)/.exec(text) ?? [];
  const words = /^#!\s*(\S+)\s*(.*?)\s*$/.exec(first);
  return {
    isELF: text.startsWith("\x7fELF"),
    isUTF16: /^(\xff\xfe|\xfe\xff)/.test(text),
    needsMending: bom !== undefined || end === "\r\n",
    shebang: words ? words.slice(1).filter(Boolean) : undefined,
  };
}

/** The text with plain line ends and no byte order mark; undefined where it is no text, so that a payload stays whole. */
export function mendText(content: Uint8Array): Uint8Array | undefined {
  const text = asBytes(content);
  if (text.includes("\0")) return undefined;
  const body = text.startsWith(mark) ? text.slice(mark.length) : text;
  const isForeign = /^[^\n]*\r\n/.test(body);
  return Buffer.from(isForeign ? body.replaceAll("\r\n", "\n") : body, "latin1");
}

/** Whether an interpreter is a shell of the Bourne family: those take a CR for a part of the word before it. */
export function isShell([interpreter = "", argument = ""]: string[]): boolean {
  const name = basename(interpreter);
  const runs = name === "env" || name === "busybox"
    ? argument.split(/\s+/).find((word) => !word.startsWith("-") && !word.includes("="))
    : name;
  return /^(ba|da|a|k|mk|z)?sh$/.test(basename(runs ?? ""));
}

/** One character for each byte, so that nothing that is no UTF-8 is lost. */
function asBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

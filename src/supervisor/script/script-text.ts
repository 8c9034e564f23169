/**
 * Reads the first bytes of a script, and repairs a script that was saved on Windows. Pure.
 *
 * The first line decides: if it ends in CR LF, all CR LF become LF. If it ends in LF, every CR stays: it may be intended, as in a
 * here-document.
 */
import { Buffer } from "node:buffer";
import { basename } from "node:path";

export interface ScriptHead {
  isELF: boolean;
  /** UTF-16, which no interpreter accepts. */
  isUTF16: boolean;
  /** It starts with a byte order mark, or its first line ends in CR LF: the kernel and shells would fail. */
  needsRepair: boolean;
  /** The interpreter and its argument, if any; undefined without a `#!`. */
  shebang?: string[];
}

/** Enough for the first line: the kernel itself reads 256 bytes. */
export const headBytes = 4096;

const byteOrderMark = "\xef\xbb\xbf";

/** Parses the first `headBytes` of a file. */
export function readHead(head: Uint8Array): ScriptHead {
  const text = asBytes(head);
  const [, bom, first = "", end] = /^(\xef\xbb\xbf)?([^\n]*?)(\r?\n|$)/.exec(text) ?? [];
  const words = /^#!\s*(\S+)\s*(.*?)\s*$/.exec(first);
  return {
    isELF: text.startsWith("\x7fELF"),
    isUTF16: /^(\xff\xfe|\xfe\xff)/.test(text),
    needsRepair: bom !== undefined || end === "\r\n",
    shebang: words ? words.slice(1).filter(Boolean) : undefined,
  };
}

/** Returns the script with LF line ends and no byte order mark; undefined if it is not text: a binary payload must stay intact. */
export function repairText(content: Uint8Array): Uint8Array | undefined {
  const text = asBytes(content);
  if (text.includes("\0")) return undefined;
  const body = text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text;
  const isFromWindows = /^[^\n]*\r\n/.test(body);
  return Buffer.from(isFromWindows ? body.replaceAll("\r\n", "\n") : body, "latin1");
}

/** Reports whether an interpreter is a Bourne shell: to these a CR is part of the word before it. */
export function isShell([interpreter = "", argument = ""]: string[]): boolean {
  const name = basename(interpreter);
  const program = name === "env" || name === "busybox"
    ? argument.split(/\s+/).find((word) => !word.startsWith("-") && !word.includes("="))
    : name;
  return /^(ba|da|a|k|mk|z)?sh$/.test(basename(program ?? ""));
}

/** One character per byte, so that bytes that are not UTF-8 are kept. */
function asBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

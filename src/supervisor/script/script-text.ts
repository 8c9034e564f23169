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
  /** The format of an archive or of compressed data, such as "zip". */
  archive?: string;
  /** It starts with a byte order mark, or its first line ends in CR LF: the kernel and shells would fail. */
  needsRepair: boolean;
  /** The interpreter and its argument, if any; undefined without a `#!`. */
  shebang?: string[];
}

/** Enough for the first line: the kernel itself reads 256 bytes. */
export const headBytes = 4096;

const byteOrderMark = "\xef\xbb\xbf";

/** What messages say about an archive in the place of a script. */
export const notScript = "is an archive, not a script: unpack it on the node, and name a script in it";

const archives: [format: string, magic: RegExp][] = [
  ["gzip", /^\x1f\x8b/],
  ["zip", /^PK\x03\x04/],
  ["zstd", /^\x28\xb5\x2f\xfd/],
  ["xz", /^\xfd7zXZ\0/],
  ["bzip2", /^BZh[1-9]1AY&SY/],
  ["tar", /^[^]{257}ustar/],
];

/** Parses the first `headBytes` of a file. */
export function readHead(head: Uint8Array): ScriptHead {
  const text = asBytes(head);
  const [, bom, first = "", end] = /^(\xef\xbb\xbf)?([^\n]*?)(\r?\n|$)/.exec(text) ?? [];
  const words = /^#!\s*(\S+)\s*(.*?)\s*$/.exec(first);
  return {
    isELF: text.startsWith("\x7fELF"),
    isUTF16: /^(\xff\xfe|\xfe\xff)/.test(text),
    archive: archives.find(([, magic]) => magic.test(text))?.[0],
    needsRepair: bom !== undefined || end === "\r\n",
    shebang: words?.slice(1).filter(Boolean).map((word) => Buffer.from(word, "latin1").toString("utf8")),
  };
}

/** Reports whether a path, or that of a URL, is named like an archive. */
export function isNamedLikeArchive(path: string): boolean {
  return /\.(tar|tgz|tar\.\w+|zip|gz|zst|xz|bz2)$/i.test(path.replace(/[?#].*$/, ""));
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

/** The program that `#!/usr/bin/env PROGRAM` searches on the PATH; undefined for any other line, and with options of env. */
export function searchedProgram([interpreter = "", argument = ""]: string[]): string | undefined {
  return basename(interpreter) === "env" && /^[^-=/\s][^=/\s]*$/.test(argument) ? argument : undefined;
}

/** One character per byte, so that bytes that are not UTF-8 are kept. */
function asBytes(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

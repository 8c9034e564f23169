import assert from "node:assert/strict";
import { test } from "node:test";
import { isShell, readHead, repairText } from "../../../src/supervisor/script/script-text.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const repaired = (text: string) => {
  const result = repairText(bytes(text));
  return result && new TextDecoder("utf-8", { ignoreBOM: true }).decode(result);
};

test("readHead() finds the interpreter and its argument, with any line end", () => {
  const cases: Record<string, string[] | undefined> = {
    "#!/bin/sh\necho": ["/bin/sh"],
    "#!/bin/sh\r\necho": ["/bin/sh"],
    "#!/bin/sh": ["/bin/sh"],
    "#! /usr/bin/env  -S bash -e \r\n": ["/usr/bin/env", "-S bash -e"],
    "\uFEFF#!/bin/bash -e\n": ["/bin/bash", "-e"],
    "echo '#!/bin/sh'\n": undefined,
    "\n#!/bin/sh\n": undefined,
    "": undefined,
  };
  for (const [text, shebang] of Object.entries(cases)) {
    assert.deepEqual(readHead(bytes(text)).shebang, shebang);
  }
});

test("readHead() requires a repair only for a CR LF in the first line or a byte order mark", () => {
  const needs = (text: string) => readHead(bytes(text)).needsRepair;
  assert.deepEqual(
    ["echo\r\n", "\r\n", "\uFEFFecho\n", "\uFEFF", "#!/bin/sh\r\nx"].map(needs),
    [true, true, true, true, true],
  );
  assert.deepEqual(["echo\n", "echo a\necho b\r\n", "echo\r", "", "a\rb\n"].map(needs), Array(5).fill(false));
});

test("readHead() detects ELF programs and UTF-16", () => {
  assert.equal(readHead(new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 2])).isELF, true);
  assert.equal(readHead(new Uint8Array([0xff, 0xfe, 0x23, 0])).isUTF16, true);
  assert.equal(readHead(new Uint8Array([0xfe, 0xff, 0, 0x23])).isUTF16, true);
  assert.deepEqual(readHead(bytes("#!/bin/sh\n")).isUTF16, false);
});

test("repairText() removes CR from line ends and the byte order mark, and nothing else", () => {
  assert.equal(repaired("\uFEFFecho ü\r\nprintf 'a\rb'\r\nlast"), "echo ü\nprintf 'a\rb'\nlast");
  assert.equal(repaired("\uFEFFfirst\nhere\r\n"), "first\nhere\r\n");
  assert.equal(repaired("payload follows\r\n\0\r\n"), undefined);
  const latin = new Uint8Array([0xe9, 13, 10, 0xff]);
  assert.deepEqual([...repairText(latin) ?? []], [0xe9, 10, 0xff]);
});

test("isShell() detects shells, also behind env and busybox", () => {
  for (
    const line of [
      "/bin/sh",
      "/bin/bash -e",
      "/usr/bin/env bash",
      "/usr/bin/env -S A=1 dash -e",
      "/bin/busybox sh",
    ]
  ) {
    const [program = "", ...rest] = line.split(" ");
    assert.equal(isShell([program, rest.join(" ")]), true, line);
  }
  for (
    const line of [
      "/usr/bin/python3",
      "/usr/bin/env python3",
      "/usr/bin/env",
      "/usr/bin/perl -w",
      "/bin/csh",
      "/usr/bin/fish",
    ]
  ) {
    const [program = "", ...rest] = line.split(" ");
    assert.equal(isShell([program, rest.join(" ")]), false, line);
  }
});

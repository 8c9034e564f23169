import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { tempFolder } from "../temp-folder.ts";

test(
  "the bundle is ASCII, and its strings and expressions mean the same",
  { skip: "deno" in process.versions && "esbuild is run by Node" },
  async () => {
    const { bundleProgram } = await import("../../tools/build/bundle.ts");
    using temp = tempFolder();
    const [entry, output] = [join(temp.path, "entry.ts"), join(temp.path, "entry.cjs")];
    await writeFile(
      entry,
      `export const degrees = /^\\d+°$/; export const face = /^[😀]$/u; export const text = "21° – \${0}";`,
    );
    await bundleProgram(entry, output);
    assert.doesNotMatch(await readFile(output, "utf8"), /[^\0-\x7f]/);
    const { degrees, face, text } = createRequire(import.meta.url)(output);
    assert.deepEqual([degrees.test("21°"), degrees.test("21"), face.test("😀")], [true, false, true]);
    assert.equal(text, "21° – ${0}");
  },
);

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { compilerArguments, writeSamples } from "./launcher-input.ts";

test("the parsers of the launcher accept the samples of its fuzzer, with sanitizers", {
  skip: skipUnless("compilers"),
}, () => {
  using temp = tempFolder();
  const program = join(temp.path, "replay");
  const run = (file: string, args: string[]) => {
    const { status, stderr } = spawnSync(file, args, { encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""]);
  };
  run("cc", compilerArguments(program, ["-DREPLAY"]));
  run(program, writeSamples(join(temp.path, "samples")));
});

import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findScriptProgram, startExecSession } from "../../../src/supervisor/run/run.ts";
import { fakeLauncher } from "../../fake-launcher.ts";
import { tempFolder } from "../../temp-folder.ts";

test("script(1) is found on the PATH; without it, a command that needs a terminal says what to install", async (t) => {
  const folder = tempFolder(t).path;
  const searchPath = `relative:/none:${folder}`;
  writeFileSync(join(folder, "script"), "");
  assert.equal(await findScriptProgram(searchPath), undefined);
  await assert.rejects(
    startExecSession(folder, ["sh"], { launcher: fakeLauncher, terminal: true, input: true, searchPath }),
    /^Error: no terminal for the command: script\(1\) is not on the PATH; install util-linux /,
  );
  chmodSync(join(folder, "script"), 0o755);
  assert.equal(await findScriptProgram(searchPath), join(folder, "script"));
});

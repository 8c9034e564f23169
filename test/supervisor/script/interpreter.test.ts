import assert from "node:assert/strict";
import { test } from "node:test";
import type { UserFiles } from "../../../src/supervisor/launcher/launcher.ts";
import { checkInterpreter } from "../../../src/supervisor/script/interpreter.ts";

/** Files of a node with `env`, and how often they were looked at. */
function nodeWith(programs: string[]) {
  const looks: string[] = [];
  const files: UserFiles = {
    // deno-lint-ignore require-await
    async look(path) {
      looks.push(path);
      const isThere = path === "/usr/bin/env" || programs.includes(path);
      return { kind: isThere ? "file" : "missing", executable: isThere, head: new Uint8Array() };
    },
    read: () => Promise.reject(new Error("nothing is read")),
  };
  const check = (searchPath: string) =>
    checkInterpreter(["/usr/bin/env", "python9"], "app", { user: "", files, searchPath });
  return { looks, check };
}

test("a PATH with thousands of folders is searched only so far, and the rest is left to env", async () => {
  const { looks, check } = nodeWith([]);
  await check(Array.from({ length: 5000 }, (_, at) => `/${at}`).join(":"));
  assert.ok(looks.length <= 100, `${looks.length} looks`);
});

test("a folder that the PATH names thousands of times is looked at once", async () => {
  const { looks, check } = nodeWith([]);
  await assert.rejects(check("/bin:".repeat(5000)), /"python9" is in no folder of the PATH/);
  assert.deepEqual(looks, ["/usr/bin/env", "/bin/python9", "/python9"]);
});

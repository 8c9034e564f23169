import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readRunUser, saveRunContext } from "../../../src/supervisor/run/run.ts";
import { tempFolder } from "../../temp-folder.ts";

async function userOf(user: unknown, own?: number[]) {
  using temp = tempFolder();
  const fields = { leaf: "", workingDir: "/", gid: 0, environment: join(temp.path, "environment") };
  saveRunContext(temp.path, { ...fields, user: user as string });
  return await readRunUser(temp.path, own);
}

test("commands in a run get the user and the groups that its launcher gave it", async () => {
  assert.deepEqual(await userOf("0 0 0"), { uid: 0, groups: [0, 0] });
  assert.deepEqual(await userOf("1000 1000 1000 27"), { uid: 1000, groups: [1000, 1000, 27] });
  assert.deepEqual(await userOf("65534"), { uid: 65_534, groups: [] });
});

test("in a run of an agent that was not root, they get the user of the agent that is there now", async () => {
  assert.deepEqual(await userOf("", [1000, 1000, 27]), { uid: 1000, groups: [1000, 27] });
  assert.deepEqual(await userOf("", [0, 0]), { uid: 0, groups: [0] });
});

test("a run whose context is gone or damaged has no known user", async () => {
  assert.equal(await userOf("web"), undefined);
  assert.equal(await userOf("-1 0"), undefined);
  assert.equal(await userOf(1000), undefined);
  assert.equal(await readRunUser("/no/such/run"), undefined);
  using temp = tempFolder();
  await writeFile(join(temp.path, "inside.json"), "null");
  assert.equal(await readRunUser(temp.path), undefined);
});

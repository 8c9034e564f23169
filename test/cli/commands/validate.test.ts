import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "../../temp-folder.ts";
import { call } from "../call.ts";

const app = "apiVersion: app.example.com/v1alpha1\nkind: NCApp\nmetadata: {name: web}\nspec: {}\n";
const config = "apiVersion: v1\nkind: Namespace\nmetadata: {name: settings}\n";

function validate(text: string) {
  async function* stdin() {
    yield new TextEncoder().encode(text);
  }
  return call(["validate", "-f", "-"], { stdin }).done;
}

const skipped =
  'standard input:1: Namespace "settings" (v1) is not an NCApp of app.example.com/v1alpha1; skipped\n';

test("objects of other kinds are reported but are no problem", async () => {
  assert.deepEqual(await validate(`${config}---\n${app}`), {
    code: 0,
    stdout: "-: default/web is valid\n",
    stderr: skipped,
  });
  assert.deepEqual(await validate(config), { code: 0, stdout: "", stderr: skipped });
});

test("Secrets and ConfigMaps are checked, since they serve the apps of a folder", async () => {
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n";
  assert.deepEqual(await validate(secret), {
    code: 0,
    stdout: "-: Secret default/db is valid\n",
    stderr: "",
  });
  const { code, stderr } = await validate(`${secret}data: {password: "not base64"}\n`);
  assert.deepEqual([code, stderr], [
    1,
    "standard input:4: Secret default/db: data.password: must be base64; stringData takes plain text\n",
  ]);
});

test("an object that is almost an NCApp is a problem", async () => {
  const slips = [
    app.replace("v1alpha1", "v1"),
    app.replace("NCApp", "NCApps"),
    app.replace("app.example", "app.exmaple"),
    app.replace(/^kind.*\n/m, ""),
  ];
  for (const slip of slips) {
    const { code, stdout, stderr } = await validate(slip);
    assert.deepEqual([code, stdout], [1, ""], slip);
    assert.doesNotMatch(stderr, /skipped/);
  }
});

test("an empty folder is a problem", async () => {
  using temp = tempFolder();
  const { code, stderr } = await call(["validate", temp.path]).done;
  assert.equal(code, 1);
  assert.match(stderr, /: the folder has no manifest/);
});

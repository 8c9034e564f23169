import assert from "node:assert/strict";
import { access, constants, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseManifests } from "../../src/api/manifest/manifest.ts";

const examples = fileURLToPath(new URL("../../examples", import.meta.url));

test("every example is a valid manifest, and its scripts exist and are executable", async () => {
  for (const name of (await readdir(examples)).filter((name) => name.endsWith(".yaml"))) {
    const { apps, problems } = parseManifests(await read(name), name, { baseDir: examples });
    assert.deepEqual(problems, [], name);
    assert.equal(apps.length, 1, name);
    for (const app of apps) {
      assert.equal(app.spec.nodeName, undefined, `${name} must run on any node`);
      for (const path of [app.spec.shellFile, app.spec.stopFile]) {
        if (path) await access(path, constants.X_OK);
      }
    }
  }
});

test("every cluster example has an NCApp or an NCAppSet with paths that an API server accepts", async () => {
  for (const name of await readdir(join(examples, "cluster"))) {
    const text = await read(join("cluster", name));
    const { apps, sets, problems } = parseManifests(text, name, { checkSets: true });
    assert.equal(apps.length + sets.length, 1, name);
    assert.deepEqual(problems, [], name);
  }
});

test("example names are unique, and the README lists each", async () => {
  const readme = await read("README.md");
  const paths = (await readdir(examples, { recursive: true })).filter((path) => path.endsWith(".yaml"));
  const names = new Set<string>();
  for (const path of paths) {
    assert.ok(readme.includes(`(${path})`), path);
    const { apps } = parseManifests(await read(path), path, { baseDir: join(examples, dirname(path)) });
    for (const app of apps) {
      assert.ok(!names.has(app.metadata.name), app.metadata.name);
      names.add(app.metadata.name);
    }
  }
});

function read(path: string): Promise<string> {
  return readFile(join(examples, path), "utf8");
}

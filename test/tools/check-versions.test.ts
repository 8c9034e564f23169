import assert from "node:assert/strict";
import { test } from "node:test";
import { findLooseVersions } from "../../tools/check/steps.ts";

test("findLooseVersions() returns every version that is not pinned", () => {
  const loose = findLooseVersions({
    dependencies: { exact: "1.2.3", caret: "^1.2.3", pre: "2.0.0-rc.1" },
    devDependencies: { star: "*", tag: "latest", range: "1.x" },
  });
  assert.deepEqual(loose, [
    'package.json: dependencies: caret "^1.2.3" is not an exact version',
    'package.json: devDependencies: star "*" is not an exact version',
    'package.json: devDependencies: tag "latest" is not an exact version',
    'package.json: devDependencies: range "1.x" is not an exact version',
  ]);
});

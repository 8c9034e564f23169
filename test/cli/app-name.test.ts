import assert from "node:assert/strict";
import { test } from "node:test";
import { manyApps, oneApp, parseAppName, shortName } from "../../src/cli/app-name.ts";

test("an app is NAME, NAMESPACE/NAME, or NAME with --namespace", () => {
  assert.deepEqual(parseAppName("web"), { namespace: "default", name: "web" });
  assert.deepEqual(parseAppName("shop/web"), { namespace: "shop", name: "web" });
  assert.deepEqual(parseAppName("web", "shop"), { namespace: "shop", name: "web" });
  assert.deepEqual(parseAppName("shop/web", "shop"), { namespace: "shop", name: "web" });
  assert.deepEqual(["default/web", "shop/web"].map((word) => shortName(parseAppName(word))), [
    "web",
    "shop/web",
  ]);
});

test("an invalid name is refused before it becomes part of a path", () => {
  for (const word of ["../etc", "a/b/c", "/web", "shop/", "Web", ""]) {
    assert.throws(() => parseAppName(word), /is not the name of an app: use NAME or NAMESPACE\/NAME/, word);
  }
  assert.throws(() => parseAppName("shop/web", "bank"), /not in the namespace bank/);
});

test("a command for one app refuses two, and every command refuses none", () => {
  assert.throws(() => oneApp({ flags: {}, args: ["a", "b"] }), /takes one app, not also "b"/);
  assert.throws(() => manyApps({ flags: {}, args: [] }), /no app is named/);
  assert.equal(manyApps({ flags: {}, args: ["a", "b"] }).length, 2);
});

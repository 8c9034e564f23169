import assert from "node:assert/strict";
import { test } from "node:test";
import { type LabelSelector, matchesSelector, parseSelector } from "../../src/api/label-selector.ts";

const labels = { app: "web", tier: "front", "example.com/zone": "a", empty: "" };

test("a selector matches as kubectl's -l does", () => {
  const cases: [string, boolean][] = [
    ["", true],
    ["  ", true],
    ["app=web", true],
    ["app==web", true],
    [" app = web ", true],
    ["app=db", false],
    ["rack=1", false],
    ["app!=db", true],
    ["app != web", false],
    ["rack!=1", true],
    ["app in (db,web)", true],
    ["app in ( db , web )", true],
    ["app in(web)", true],
    ["app in (db)", false],
    ["rack in (1)", false],
    ["app notin (db)", true],
    ["app notin (db, web)", false],
    ["rack notin (1)", true],
    ["app", true],
    ["rack", false],
    ["!rack", true],
    ["! app", false],
    ["empty=", true],
    ["app=", false],
    ["app in (,web)", true],
    ["example.com/zone=a", true],
    ["app=web,tier=front", true],
    ["app=web,tier=back", false],
    ["app in (web,db),!rack,tier!=back", true],
    ["app=web,app=db", false],
    ["constructor", false],
    ["!constructor", true],
    ["in", false],
    ["notin=1", false],
  ];
  for (const [text, expected] of cases) {
    assert.equal(matchesSelector(parseSelector(text), labels), expected, JSON.stringify(text));
  }
});

test("a wrong selector is refused with the part that is wrong", () => {
  const cases: [string, RegExp][] = [
    ["app=web,", /"".*use app=web/],
    [",", /""/],
    ["=web", /"=web"/],
    ["app=a b", /label value "a b"/],
    ["app=-x", /label value "-x" must be letters/],
    [`app=${"x".repeat(64)}`, /at most 63/],
    [`${"x".repeat(64)}=1`, /label key/],
    ["-app=1", /label key "-app"/],
    ["a/b/c", /label key "a\/b\/c"/],
    ["app in web", /"app in web".*parentheses/],
    ["app in (web", /parentheses/],
    ["app in (web))", /parentheses|label/],
    ["!app=web", /"!app=web"/],
    ["app=(web)", /label value/],
    ["rank>1", /label key "rank>1"/],
    ["x".repeat(5000), /5000 characters/],
  ];
  for (const [text, message] of cases) assert.throws(() => parseSelector(text), { message }, text);
});

test("the selector object of Kubernetes combines matchLabels and matchExpressions; an empty one matches all", () => {
  const cases: [LabelSelector, boolean][] = [
    [{}, true],
    [{ matchLabels: {}, matchExpressions: [] }, true],
    [{ matchLabels: { app: "web" } }, true],
    [{ matchLabels: { app: "web", rack: "1" } }, false],
    [{ matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "Exists" }] }, true],
    [{ matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] }, false],
    [{ matchExpressions: [{ key: "tier", operator: "NotIn", values: ["front"] }] }, false],
  ];
  for (const [selector, expected] of cases) {
    assert.equal(matchesSelector(selector, labels), expected, JSON.stringify(selector));
  }
  assert.equal(matchesSelector({ matchLabels: { app: "web" } }), false);
});

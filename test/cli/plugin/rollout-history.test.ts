import assert from "node:assert/strict";
import { test } from "node:test";
import {
  findRevision,
  historyLines,
  revisionToRestore,
  templateOf,
} from "../../../src/cli/plugin/rollout-history.ts";
import { appSet, revision } from "./set-scene.ts";

const revisions = [revision(1, "web-first"), revision(2, "web-old"), revision(3, "web-new")];
const now = Date.parse("2026-11-17T00:01:30Z");

test("history lists revisions with their state and cause, the oldest first", () => {
  const caused = revision(3, "web-new");
  caused.metadata.annotations = { "kubernetes.io/change-cause": "version 1.4" };
  assert.deepEqual(historyLines(appSet(), [revisions[0]!, revisions[1]!, caused], now), [
    "REVISION   NAME        STATE            AGE   CHANGE-CAUSE",
    "1          web-first   -                90s   -",
    "2          web-old     current,stable   90s   -",
    "3          web-new     update           90s   version 1.4",
  ]);
  assert.deepEqual(historyLines(appSet(), [], now), ["set shop/web has no revisions yet."]);
});

test("a revision that does not exist is refused with those that do", () => {
  assert.equal(findRevision(appSet(), revisions, 2).metadata.name, "web-old");
  assert.throws(
    () => findRevision(appSet(), revisions, 9),
    /set shop\/web has no revision 9; there are: 1, 2, 3/,
  );
});

test("undo takes the newest revision that is not being rolled out, or the given one", () => {
  const taken = (number?: number) => revisionToRestore(appSet(), revisions, number).revision;
  assert.deepEqual([taken(), taken(1)], [2, 1]);
  assert.throws(() => taken(3), /set shop\/web has the template of revision 3 already/);
  assert.throws(
    () => revisionToRestore(appSet(), [revisions[2]!], undefined),
    /set shop\/web has no earlier revision/,
  );
});

test("a revision without a template is refused by its name", () => {
  assert.equal(templateOf(appSet(), revisions[1]!).spec?.shellFile, "/srv/old.sh");
  assert.throws(
    () => templateOf(appSet(), revision(1, "web-odd", { data: undefined })),
    /ControllerRevision web-odd of set shop\/web has no template/,
  );
});

/** What starts an app that could not start, on a real supervisor whose clock stands still: no wait ever ends by itself. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createMarkerConfinement } from "../../src/supervisor/confinement/confinement.ts";
import { statusOf } from "../../src/supervisor/status.ts";
import { start } from "./fixtures.ts";
import { createTestNode } from "./test-node.ts";

const forever = "#!/bin/sh\nwhile :; do sleep 1; done\n";
const createNode = () =>
  createTestNode(createMarkerConfinement("this test uses markers"), { now: () => start });

for (const reason of ["ScriptNotFound", "InvalidWorkingDir"] as const) {
  test(`an app in ${reason} says when it is tried again, and starts as soon as the cause is gone`, async () => {
    await using node = await createNode();
    const [shellFile, workingDir] = [join(node.folder, "app.sh"), join(node.folder, "work")];
    const makeScript = () => writeFile(shellFile, forever, { mode: 0o755 });
    const makeFolder = () => mkdir(workingDir);
    const [makeFirst, makeLast] = reason === "ScriptNotFound"
      ? [makeFolder, makeScript]
      : [makeScript, makeFolder];
    await makeFirst();
    await node.assign("late", { shellFile, workingDir });
    const record = await node.reach("late", "Pending", (record) => record.reason === reason);
    assert.match(statusOf({ record }).message ?? "", /; next try at 2027-01-15T08:00:01Z$/);
    await makeLast();
    const { failures, failedStarts } = await node.reach("late", "Running");
    assert.deepEqual([failures, failedStarts], [0, undefined]);
  });
}

test("a new agent tries at once what its predecessor could not start", async () => {
  await using node = await createNode();
  const shellFile = await node.script("app.sh", "#!/bin/sh\n");
  const shellFileSHA256 = createHash("sha256").update(forever).digest("hex");
  await node.assign("pinned", { shellFile, shellFileSHA256 });
  await node.reach("pinned", "Pending", ({ reason }) => reason === "DigestMismatch");
  await node.restartAgent(() => writeFile(shellFile, forever));
  await node.reach("pinned", "Running");
});

/** What starts an app that could not start, on a real supervisor whose clock stands still: no wait ever ends by itself. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { NCAppSpec } from "../../src/api/types.ts";
import { type CapsState, createMarkerConfinement } from "../../src/supervisor/confinement/confinement.ts";
import { statusOf } from "../../src/supervisor/status.ts";
import { StartError } from "../../src/supervisor/types.ts";
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

/** By reason: a spec that cannot start, and what takes the cause away. */
const appearing: Record<string, (folder: string) => { spec: NCAppSpec; appear: () => Promise<unknown> }> = {
  InterpreterNotFound: (folder) => ({
    spec: { shellFile: join(folder, "app.sh") },
    appear: () => symlink("/bin/sh", join(folder, "interpreter")),
  }),
  "InterpreterNotFound in the PATH": (folder) => ({
    spec: {
      shellFile: join(folder, "searching.sh"),
      env: [{ name: "PATH", value: `/usr/bin:/bin:${folder}` }],
    },
    appear: () => symlink("/bin/sh", join(folder, "own-shell")),
  }),
  InvalidEnvironment: (folder) => ({
    spec: { shellFile: join(folder, "sh.sh"), envFile: join(folder, "app.env") },
    appear: () => writeFile(join(folder, "app.env"), "A=b\n"),
  }),
};

for (const [name, create] of Object.entries(appearing)) {
  test(`an app in ${name} starts as soon as the cause is gone`, async () => {
    await using node = await createNode();
    await node.script("sh.sh", forever);
    await node.script("app.sh", forever.replace("/bin/sh", join(node.folder, "interpreter")));
    await node.script("searching.sh", forever.replace("/bin/sh", "/usr/bin/env own-shell"));
    const { spec, appear } = create(node.folder);
    await node.assign("late", spec);
    const [reason] = name.split(" ");
    await node.reach("late", "Pending", (record) => record.reason === reason);
    await appear();
    await node.reach("late", "Running");
  });
}

test("an app in MissingKey starts as soon as this node has the key, and asks no other machine for it meanwhile", async () => {
  let hasKey = false;
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"), {
    now: () => start,
    resolveValue: async (_, __, { onNode = false } = {}) => {
      if (hasKey) return "value";
      throw new StartError("MissingKey", onNode ? "not here" : "nowhere");
    },
  });
  const valueFrom = { secretKeyRef: { name: "db", key: "password" } };
  await node.assign("late", {
    shellFile: await node.script("app.sh", forever),
    env: [{ name: "A", valueFrom }],
  });
  const { message } = await node.reach("late", "Pending", ({ reason }) => reason === "MissingKey");
  assert.equal(message, "nowhere");
  hasKey = true;
  await node.reach("late", "Running");
});

test("an app in LimitsUnavailable starts as soon as its caps can be set", async () => {
  let state: CapsState = { enforced: false, reason: "LimitsUnavailable", message: "no controller" };
  await using node = await createTestNode({
    ...createMarkerConfinement("this test uses markers"),
    prepareApp: async () => state,
    prepare: async () => ({ keeper: "", leaf: "", caps: state }),
    ensureCaps: async () => state,
  }, { now: () => start, enforce: "strict" });
  await node.assign("late", { shellFile: await node.script("app.sh", forever), cpuPCT: 20 });
  await node.reach("late", "Pending", ({ reason }) => reason === "LimitsUnavailable");
  state = { enforced: true };
  await node.reach("late", "Running");
});

test("a new agent tries at once what its predecessor could not start", async () => {
  await using node = await createNode();
  const shellFile = await node.script("app.sh", "#!/bin/sh\n");
  const shellFileSHA256 = createHash("sha256").update(forever).digest("hex");
  await node.assign("pinned", { shellFile, shellFileSHA256 });
  await node.reach("pinned", "Pending", ({ reason }) => reason === "DigestMismatch");
  await node.restartAgent(() => writeFile(shellFile, forever));
  await node.reach("pinned", "Running");
});

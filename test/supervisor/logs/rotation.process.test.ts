import assert from "node:assert/strict";
import {
  access,
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Collapse, fallocateCollapse } from "../../../src/supervisor/logs/collapse.ts";
import { incomingPath, listParts, statePath } from "../../../src/supervisor/logs/log-parts.ts";
import {
  forgetRotation,
  planRotation,
  rotateIfNeeded,
  type Rotation,
} from "../../../src/supervisor/logs/rotation.ts";
import { noteLengths } from "../../../src/supervisor/logs/logs.ts";
import { openState, readState } from "../../../src/supervisor/logs/rotation-state.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import { logFolder, logPath } from "../../../src/supervisor/layout.ts";
import { createHungMount, skipWithoutFuse } from "../../harness/hung-mount.ts";
import { tempFolder } from "../../temp-folder.ts";
import { appWith, recordWith } from "../fixtures.ts";
import { canCollapse } from "./can-collapse.ts";
import { assertNumbers, readJoined, writeNumbers } from "./numbered-log.ts";

const block = 4096;
const policy = { maxBytes: 10 * block, maxFiles: 100 };
const died = new Error("the agent died");
const unsupported: Collapse = () => Promise.resolve("unsupported");

const root = tempFolder({ after }).path;
const skip = canCollapse(root) ? false : "this file system cannot collapse";

async function newLog(content: string | Uint8Array = ""): Promise<string> {
  const path = join(await mkdtemp(join(root, "case-")), "app.log");
  await writeFile(path, content);
  return path;
}

const numbers = (count: number) =>
  Array.from({ length: count }, (_, i) => `${String(i + 1).padStart(12, "0")} ${"x".repeat(86)}\n`).join("");

const sizes = async (path: string) => (await listParts(path)).map(({ size }) => size);

const outcome = ({ seen: _, ...rest }: Rotation) => rest;

async function stateOf(path: string) {
  await using file = await openState(path);
  return await readState(file);
}

test("planRotation() cuts whole parts and leaves at least a byte", () => {
  const plan = (size: number, maxBytes = 1000, maxFiles = 5) =>
    planRotation(size, { maxBytes, maxFiles }, 100);
  assert.deepEqual(plan(1000), { partBytes: 1000, parts: 0, drop: 0 });
  assert.deepEqual(plan(1001), { partBytes: 1000, parts: 1, drop: 0 });
  assert.deepEqual(plan(2000), { partBytes: 1000, parts: 1, drop: 0 });
  assert.deepEqual(plan(2001), { partBytes: 1000, parts: 2, drop: 0 });
  assert.deepEqual(plan(3001, 1099), { partBytes: 1000, parts: 3, drop: 0 });
});

test("planRotation() copies no more than the parts that will be kept", () => {
  const plan = (size: number, maxFiles: number) => planRotation(size, { maxBytes: 1000, maxFiles }, 100);
  assert.deepEqual(plan(10_001, 5), { partBytes: 1000, parts: 4, drop: 6000 });
  assert.deepEqual(plan(10_001, 1), { partBytes: 1000, parts: 0, drop: 10_000 });
});

test("planRotation() cuts at least one block, even below the limit of one", () => {
  assert.deepEqual(planRotation(150, { maxBytes: 10, maxFiles: 5 }, 100), {
    partBytes: 100,
    parts: 1,
    drop: 0,
  });
  assert.deepEqual(planRotation(90, { maxBytes: 10, maxFiles: 5 }, 100), {
    partBytes: 100,
    parts: 0,
    drop: 0,
  });
});

test("a log within its limit is not changed", async () => {
  const path = await newLog("x".repeat(policy.maxBytes));
  assert.deepEqual(outcome(await rotateIfNeeded(path, policy)), {
    rotated: false,
    lossless: true,
    droppedBytes: 0,
  });
  assert.deepEqual(await sizes(path), []);
});

test("each check tells how long the stream was before it, whatever was rotated out", async () => {
  for (const collapse of [undefined, unsupported]) {
    const path = await newLog(numbers(100));
    const length = async (limit = policy) => {
      const { base, size } = (await rotateIfNeeded(path, limit, { collapse })).seen!;
      return base + size;
    };
    assert.equal(await length(), 10_000);
    await appendFile(path, numbers(900));
    assert.equal(await length(), 100_000);
    assert.ok((await stateOf(path))!.base > 0);
    assert.equal(await length(), 100_000);
    await appendFile(path, "more\n");
    assert.equal(await length({ ...policy, maxBytes: 2 ** 30 }), 100_005);
    assert.equal(await length({ ...policy, maxBytes: 2 ** 30 }), 100_005);
  }
});

test("a missing log is no problem", async () => {
  assert.equal((await rotateIfNeeded(join(root, "none", "app.log"), policy)).problem, undefined);
});

test("the parts of a rotated log, joined, are the same bytes", { skip }, async () => {
  const content = numbers(1500);
  const path = await newLog(content);
  assert.deepEqual(outcome(await rotateIfNeeded(path, policy)), {
    rotated: true,
    lossless: true,
    droppedBytes: 0,
  });
  assert.deepEqual(await sizes(path), [policy.maxBytes, policy.maxBytes, policy.maxBytes]);
  assert.equal(await readJoined(path), content);
  assert.deepEqual(await stateOf(path), { seq: 7, base: 3 * policy.maxBytes });
  await appendFile(path, "more\n");
  assert.equal(await readJoined(path), `${content}more\n`);
});

test("at most maxFiles files are kept, with the newest lines", { skip }, async () => {
  const few = { ...policy, maxFiles: 3 };
  const content = numbers(3000);
  const path = await newLog(content.slice(0, 150_000));
  await rotateIfNeeded(path, few);
  await appendFile(path, content.slice(150_000));
  const { droppedBytes } = await rotateIfNeeded(path, few);
  assert.equal((await sizes(path)).length, 2);
  const kept = await readJoined(path);
  assert.ok(content.endsWith(kept));
  assert.ok(droppedBytes > 0);
  assert.equal((await stateOf(path))!.base + (await stat(path)).size, content.length);
});

test("every line of 40 MB written at full speed during rotations is kept once", { skip }, async () => {
  const path = await newLog();
  const count = 400_000;
  const writing = writeNumbers(path, count);
  let isWriting = true;
  const written = writing.finally(() => isWriting = false);
  let rotations = 0;
  while (isWriting) {
    const { problem, rotated } = await rotateIfNeeded(path, { maxBytes: 2 ** 20, maxFiles: 1000 });
    assert.equal(problem, undefined);
    if (rotated) rotations++;
  }
  await written;
  assert.ok(rotations > 0);
  assertNumbers(await readJoined(path), count);
});

test("on a file system that cannot collapse, the log is copied and truncated, and the result says so", async () => {
  const content = numbers(1500);
  const path = await newLog(content);
  assert.deepEqual(outcome(await rotateIfNeeded(path, policy, { collapse: unsupported })), {
    rotated: true,
    lossless: false,
    droppedBytes: 0,
  });
  assert.equal((await stat(path)).size, 0);
  assert.equal(await readJoined(path), content);
  assert.equal((await stateOf(path))!.base, content.length);
});

test("a log on a remote file system is copied and truncated in the background", {
  skip: skipWithoutFuse(),
}, async () => {
  using temp = tempFolder();
  await using mount = await createHungMount(temp.path);
  const path = join(mount.path, "app.log");
  await writeFile(path, numbers(1000));
  const rotation = await rotateIfNeeded(path, policy);
  assert.deepEqual(outcome(rotation), { rotated: true, lossless: false, droppedBytes: 0 });
  assert.equal((await stat(path)).size, 0);
  await writeNumbers(path, 10, 1001);
  assertNumbers(await readJoined(path), 1010);
});

test("copy and truncate keeps the end of a log that is longer than all parts together", async () => {
  const content = numbers(3000);
  const path = await newLog(content);
  const few = { ...policy, maxFiles: 3 };
  const { droppedBytes } = await rotateIfNeeded(path, few, { collapse: unsupported });
  assert.equal(droppedBytes, content.length - 2 * policy.maxBytes);
  assert.equal(await readJoined(path), content.slice(droppedBytes));
});

test("copy and truncate removes old parts when there are too many bytes in all", async () => {
  const path = await newLog(numbers(600));
  const few = { ...policy, maxFiles: 3 };
  for (let i = 0; i < 4; i++) {
    await rotateIfNeeded(path, few, { collapse: unsupported });
    await writeFile(path, numbers(600));
  }
  assert.deepEqual(await sizes(path), [60_000]);
});

test("tmpfs is detected as unable to collapse", async (t) => {
  const folder = await mkdtemp("/dev/shm/log-rotation-").catch(() => undefined);
  if (!folder) return t.skip("no /dev/shm here");
  try {
    const path = join(folder, "app.log");
    await writeFile(path, numbers(1500));
    const { lossless, problem } = await rotateIfNeeded(path, policy);
    assert.deepEqual({ lossless, problem }, { lossless: false, problem: undefined });
    assert.equal(await readJoined(path), numbers(1500));
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the next agent removes the copy of a cut that did not happen", { skip }, async () => {
  const path = await newLog(numbers(900));
  const { problem } = await rotateIfNeeded(path, policy, { collapse: () => Promise.reject(died) });
  assert.equal(problem?.cause, died);
  await access(incomingPath(path));
  await appendFile(path, numbers(1000).slice(90_000));
  assert.equal((await rotateIfNeeded(path, policy)).problem, undefined);
  assertNumbers(await readJoined(path), 1000);
});

test(
  "the next agent makes the copy of a finished cut a part, however much the app wrote since",
  { skip },
  async () => {
    for (const more of [0, 50_000]) {
      const path = await newLog(numbers(900));
      await rotateIfNeeded(path, policy, {
        collapse: async (...args) => {
          await fallocateCollapse(...args);
          throw died;
        },
      });
      await appendFile(path, numbers(900 + more / 100).slice(90_000));
      assert.equal((await rotateIfNeeded(path, { ...policy, maxBytes: 2 ** 30 })).problem, undefined);
      assert.deepEqual(await sizes(path), [policy.maxBytes]);
      assertNumbers(await readJoined(path), 900 + more / 100);
      assert.equal((await stateOf(path))!.base, policy.maxBytes);
    }
  },
);

test("in a log of equal lines the length shows that the cut happened", { skip }, async () => {
  const path = await newLog("y\n".repeat(45_000));
  await rotateIfNeeded(path, policy, {
    collapse: async (...args) => {
      await fallocateCollapse(...args);
      throw died;
    },
  });
  await rotateIfNeeded(path, { ...policy, maxBytes: 2 ** 30 });
  assert.equal((await readJoined(path)).length, 90_000);
});

test("a collapse that starts after the next agent has recovered does nothing", { skip }, async () => {
  const path = await newLog(numbers(900));
  await rotateIfNeeded(path, policy, {
    collapse: async (log, copy, bytes) => {
      await rotateAsNextAgent(path);
      await assert.rejects(fallocateCollapse(log, copy, bytes), /status 75/);
      throw died;
    },
  });
  await rotateIfNeeded(path, policy);
  assertNumbers(await readJoined(path), 900);
});

/** Recovers as the next agent does. A different spelling of the path stands for a different process. */
async function rotateAsNextAgent(path: string): Promise<void> {
  const { problem } = await rotateIfNeeded(path.replace("/app.log", "//app.log"), {
    ...policy,
    maxBytes: 2 ** 30,
  });
  assert.equal(problem, undefined);
}

test("the next agent removes an incomplete copy", async () => {
  const path = await newLog(numbers(10));
  await writeFile(incomingPath(path), "half a copy");
  await rotateIfNeeded(path, policy);
  assert.deepEqual((await readdir(join(path, ".."))).sort(), [".app.log.rotation", "app.log"]);
});

test("the next rotation closes the gap of an agent that died between two renames", { skip }, async () => {
  const path = await newLog(numbers(900).slice(2 * block));
  await writeFile(`${path}.1`, numbers(900).slice(block, 2 * block));
  await writeFile(`${path}.3`, numbers(900).slice(0, block));
  await rotateIfNeeded(path, policy);
  assert.deepEqual((await listParts(path)).map(({ number }) => number), [1, 2, 3]);
  assertNumbers(await readJoined(path), 900);
});

test("a damaged state file does not stop a rotation", { skip }, async () => {
  for (const damage of ["", "nonsense", '{"seq":1,"base":5}\n0']) {
    const path = await newLog(numbers(900));
    await writeFile(join(path, "../.app.log.rotation"), damage);
    const { rotated, problem } = await rotateIfNeeded(path, policy);
    assert.deepEqual({ rotated, problem }, { rotated: true, problem: undefined });
    assertNumbers(await readJoined(path), 900);
  }
});

test(
  "on a full disk the oldest parts go first, then the head of the log, and nothing throws",
  { skip },
  async () => {
    const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
    const path = await newLog(numbers(1000));
    await rotateIfNeeded(path, policy);
    assert.equal((await sizes(path)).length, 2);
    await appendFile(path, numbers(1500).slice(100_000));
    let failures = 3;
    const result = await rotateIfNeeded(path, policy, {
      collapse: (...args) => failures-- > 0 ? Promise.reject(full) : fallocateCollapse(...args),
    });
    assert.deepEqual(outcome(result), { rotated: true, lossless: true, droppedBytes: policy.maxBytes });
    assert.deepEqual(await sizes(path), []);
    const kept = await readJoined(path);
    assert.ok(numbers(1500).endsWith(kept));
    assert.ok(kept.length < policy.maxBytes);
  },
);

test("a symbolic link in the place of the log is a problem in the result and is not followed", async () => {
  const elsewhere = await newLog(numbers(1000));
  const path = join(await mkdtemp(join(root, "case-")), "app.log");
  await symlink(elsewhere, path);
  const { rotated, problem } = await rotateIfNeeded(path, policy);
  assert.equal(rotated, false);
  assert.match(problem?.message ?? "", /cannot rotate .*app\.log: not a regular file/);
  assert.equal(await readFile(elsewhere, "utf8"), numbers(1000));
});

test("a symbolic link in the place of the copy or the state is not followed", async () => {
  for (const name of [".app.log.incoming", ".app.log.rotation"]) {
    const victim = await newLog("precious");
    const path = await newLog(numbers(1000));
    await symlink(victim, join(path, "..", name));
    await rotateIfNeeded(path, policy);
    assert.equal(await readFile(victim, "utf8"), "precious");
  }
});

test("concurrent calls share one rotation", async () => {
  const path = await newLog(numbers(1000));
  const [a, b] = await Promise.all([rotateIfNeeded(path, policy), rotateIfNeeded(path, policy)]);
  assert.equal(a, b);
  assertNumbers(await readJoined(path), 1000);
});

test("a forgotten log is checked again, like one that this agent has never seen", async () => {
  const path = await newLog("short\n");
  const hasState = () => access(statePath(path)).then(() => true, () => false);
  const recreatesState = async () => {
    await rm(statePath(path), { force: true });
    await rotateIfNeeded(path, policy);
    return await hasState();
  };
  await rotateIfNeeded(path, policy);
  await rotateIfNeeded(path, policy);
  assert.equal(await recreatesState(), false, "a short log whose state was seen is not opened again");
  forgetRotation(path);
  assert.equal(await recreatesState(), true);
});

test("an agent that ends does not wait for a rotation that a mount holds up", async () => {
  const layout = { stateDir: root, logDir: await mkdtemp(join(root, "logs-")) };
  const apps = [{ key: "default/web", record: recordWith({ app: appWith({}, { name: "web" }) }) }];
  const path = logPath(layout, "default_web");
  await mkdir(logFolder(layout, "default_web"));
  await writeFile(path, "x".repeat(policy.maxBytes + block));
  const reached = Promise.withResolvers<void>();
  const release = Promise.withResolvers<"unsupported">();
  const collapse = () => (reached.resolve(), release.promise);
  const rotation = rotateIfNeeded(path, policy, { collapse });
  await reached.promise;
  await noteLengths(apps, { layout, log: silentLogger, rotationMs: 1 });
  release.resolve("unsupported");
  assert.equal((await rotation).rotated, true);
});

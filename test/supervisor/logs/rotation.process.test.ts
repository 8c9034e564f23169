import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  access,
  appendFile,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { type Collapse, fallocateCollapse } from "../../../src/supervisor/logs/collapse.ts";
import { incomingPath, listParts, statePath } from "../../../src/supervisor/logs/parts.ts";
import { forgetLog, planRotation, rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";
import { openState, readState } from "../../../src/supervisor/logs/log-state.ts";
import { assertNumbers, readJoined, writeNumbers } from "./numbered-log.ts";

const block = 4096;
const policy = { maxBytes: 10 * block, maxFiles: 100 };
const died = new Error("the agent died");
const unsupported: Collapse = () => Promise.resolve("unsupported");

let root = "";
let canCollapse = false;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "log-rotation-"));
  const probe = join(root, "probe.log");
  await writeFile(probe, Buffer.alloc(3 * block));
  canCollapse = (await rotateIfNeeded(probe, { maxBytes: block, maxFiles: 2 })).lossless;
});
after(() => rm(root, { recursive: true }));

async function newLog(content: string | Uint8Array = ""): Promise<string> {
  const path = join(await mkdtemp(join(root, "case-")), "app.log");
  await writeFile(path, content);
  return path;
}

const numbers = (count: number) =>
  Array.from({ length: count }, (_, i) => `${String(i + 1).padStart(12, "0")} ${"x".repeat(86)}\n`).join("");

const sizes = async (path: string) => (await listParts(path)).map(({ size }) => size);

async function stateOf(path: string) {
  await using file = await openState(path);
  return await readState(file);
}

test("planRotation() takes whole parts off and leaves at least a byte", () => {
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

test("planRotation() cuts at least one block, however small the limit", () => {
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

test("a log within its limit is left alone", async () => {
  const path = await newLog("x".repeat(policy.maxBytes));
  assert.deepEqual(await rotateIfNeeded(path, policy), { rotated: false, lossless: true, droppedBytes: 0 });
  assert.deepEqual(await sizes(path), []);
});

test("a log that is not there is no trouble", async () => {
  assert.equal((await rotateIfNeeded(join(root, "none", "app.log"), policy)).problem, undefined);
});

test("a log over its limit becomes parts that joined are the same bytes", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
  const content = numbers(1500);
  const path = await newLog(content);
  assert.deepEqual(await rotateIfNeeded(path, policy), { rotated: true, lossless: true, droppedBytes: 0 });
  assert.deepEqual(await sizes(path), [policy.maxBytes, policy.maxBytes, policy.maxBytes]);
  assert.equal(await readJoined(path), content);
  assert.deepEqual(await stateOf(path), { seq: 7, base: 3 * policy.maxBytes });
  await appendFile(path, "more\n");
  assert.equal(await readJoined(path), `${content}more\n`);
});

test("no more files are kept than the policy says, and the newest lines are the ones kept", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
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

test("40 MB of numbered lines written at full speed under rotation: each is there once", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
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

test("where the file system cannot collapse, the log is copied and truncated, and the result says so", async () => {
  const content = numbers(1500);
  const path = await newLog(content);
  assert.deepEqual(await rotateIfNeeded(path, policy, { collapse: unsupported }), {
    rotated: true,
    lossless: false,
    droppedBytes: 0,
  });
  assert.equal((await stat(path)).size, 0);
  assert.equal(await readJoined(path), content);
  assert.equal((await stateOf(path))!.base, content.length);
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

test("tmpfs, which cannot collapse, is noticed", async (t) => {
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

test("an agent that dies before the cut leaves a copy that is undone", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
  const path = await newLog(numbers(900));
  const { problem } = await rotateIfNeeded(path, policy, { collapse: () => Promise.reject(died) });
  assert.equal(problem?.cause, died);
  await access(incomingPath(path));
  await appendFile(path, numbers(1000).slice(90_000));
  assert.equal((await rotateIfNeeded(path, policy)).problem, undefined);
  assertNumbers(await readJoined(path), 1000);
});

test("an agent that dies after the cut leaves a copy that becomes a part, however much the app wrote since", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
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
});

test("a log of equal lines is settled by its length", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
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

test("a collapse that begins after its agent's heir has settled the matter does nothing", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
  const path = await newLog(numbers(900));
  let late = () => Promise.resolve<unknown>(undefined);
  await rotateIfNeeded(path, policy, {
    collapse: async (log, copy, bytes) => {
      await rotateAsHeir(path);
      late = () => fallocateCollapse(log, copy, bytes);
      await assert.rejects(late(), /status 75/);
      throw died;
    },
  });
  await rotateIfNeeded(path, policy);
  assertNumbers(await readJoined(path), 900);
});

/** What the next agent does first. Another spelling of the path stands for another process. */
async function rotateAsHeir(path: string): Promise<void> {
  const { problem } = await rotateIfNeeded(path.replace("/app.log", "//app.log"), {
    ...policy,
    maxBytes: 2 ** 30,
  });
  assert.equal(problem, undefined);
}

test("an agent that dies in the middle of copying leaves nothing behind", async () => {
  const path = await newLog(numbers(10));
  await writeFile(incomingPath(path), "half a copy");
  await rotateIfNeeded(path, policy);
  assert.deepEqual((await readdir(join(path, ".."))).sort(), [".app.log.rotation", "app.log"]);
});

test("an agent that dies between two renames leaves a gap that the next rotation closes", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
  const path = await newLog(numbers(900).slice(2 * block));
  await writeFile(`${path}.1`, numbers(900).slice(block, 2 * block));
  await writeFile(`${path}.3`, numbers(900).slice(0, block));
  await rotateIfNeeded(path, policy);
  assert.deepEqual((await listParts(path)).map(({ number }) => number), [1, 2, 3]);
  assertNumbers(await readJoined(path), 900);
});

test("a damaged state file does not stop a rotation", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
  for (const damage of ["", "nonsense", '{"seq":1,"base":5}\n0']) {
    const path = await newLog(numbers(900));
    await writeFile(join(path, "../.app.log.rotation"), damage);
    const { rotated, problem } = await rotateIfNeeded(path, policy);
    assert.deepEqual({ rotated, problem }, { rotated: true, problem: undefined });
    assertNumbers(await readJoined(path), 900);
  }
});

test("on a full disk the oldest parts go first, and then the head of the log, and nothing is thrown", async (t) => {
  if (!canCollapse) return t.skip("this file system cannot collapse");
  const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
  const path = await newLog(numbers(1000));
  await rotateIfNeeded(path, policy);
  assert.equal((await sizes(path)).length, 2);
  await appendFile(path, numbers(1500).slice(100_000));
  let failures = 3;
  const result = await rotateIfNeeded(path, policy, {
    collapse: (...args) => failures-- > 0 ? Promise.reject(full) : fallocateCollapse(...args),
  });
  assert.deepEqual(result, { rotated: true, lossless: true, droppedBytes: policy.maxBytes });
  assert.deepEqual(await sizes(path), []);
  const kept = await readJoined(path);
  assert.ok(numbers(1500).endsWith(kept));
  assert.ok(kept.length < policy.maxBytes);
});

test("trouble is a value: a link in the place of the log is refused and not followed", async () => {
  const elsewhere = await newLog(numbers(1000));
  const path = join(await mkdtemp(join(root, "case-")), "app.log");
  await symlink(elsewhere, path);
  const { rotated, problem } = await rotateIfNeeded(path, policy);
  assert.equal(rotated, false);
  assert.match(problem?.message ?? "", /cannot rotate .*app\.log: not a regular file/);
  assert.equal(await readFile(elsewhere, "utf8"), numbers(1000));
});

test("a link in the place of the copy or of the state is not followed", async () => {
  for (const name of [".app.log.incoming", ".app.log.rotation"]) {
    const victim = await newLog("precious");
    const path = await newLog(numbers(1000));
    await symlink(victim, join(path, "..", name));
    await rotateIfNeeded(path, policy);
    assert.equal(await readFile(victim, "utf8"), "precious");
  }
});

test("two calls at once are one rotation", async () => {
  const path = await newLog(numbers(1000));
  const [a, b] = await Promise.all([rotateIfNeeded(path, policy), rotateIfNeeded(path, policy)]);
  assert.equal(a, b);
  assertNumbers(await readJoined(path), 1000);
});

test("a log that was forgotten is looked at anew, as one that this agent has never seen", async () => {
  const path = await newLog("short\n");
  const isThere = () => access(statePath(path)).then(() => true, () => false);
  const look = async () => {
    await rm(statePath(path), { force: true });
    await rotateIfNeeded(path, policy);
    return await isThere();
  };
  await rotateIfNeeded(path, policy);
  await rotateIfNeeded(path, policy);
  assert.equal(await look(), false, "a short log whose state was seen is not opened again");
  forgetLog(path);
  assert.equal(await look(), true);
});

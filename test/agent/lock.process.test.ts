import assert from "node:assert/strict";
import { once } from "node:events";
import { spawn } from "node:child_process";
import { chown, readdir, readFile, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { lockState } from "../../src/agent/lock.ts";
import { parseStat, readBootId } from "../../src/supervisor/processes.ts";
import { tempFolder } from "../temp-folder.ts";

interface Holder {
  bootId: string;
  pid: number;
  startTime: string;
}

async function createState(t: TestContext) {
  const dir = tempFolder(t).path;
  const path = join(dir, "agent.lock");
  return {
    dir,
    path,
    read: () => readlink(path),
    /** What an agent leaves that was killed: its process, as it is changed. */
    leave: async (change: Partial<Holder> = {}) => {
      const stat = parseStat(await readFile("/proc/self/stat", "utf8"))!;
      const { bootId, pid, startTime } = { bootId: await readBootId(), ...stat, ...change };
      await rm(path, { force: true });
      await symlink(`${bootId} ${pid} ${startTime}`, path);
    },
  };
}

/** Starts agents at the same time. Returns the releases of those that got the lock, and the errors of the others. */
async function startAtOnce(dir: string, count: number) {
  const ends = await Promise.allSettled(Array.from({ length: count }, () => lockState(dir)));
  return {
    got: ends.flatMap((end) => end.status === "fulfilled" ? [end.value] : []),
    errors: ends.flatMap((end) => end.status === "rejected" ? [String(end.reason.message)] : []),
  };
}

test("a state folder of another user is refused: what is in it decides what runs as root", {
  skip: process.getuid?.() !== 0 && "only root can give a folder away",
}, async (t) => {
  const { dir } = await createState(t);
  await chown(dir, 65534, 65534);
  const expected = `--state-dir ${dir}: it belongs to user 65534: name another folder, or chown it`;
  await assert.rejects(lockState(dir), { message: expected });
  assert.deepEqual(await readdir(dir), []);
});

const startedEarlier = { startTime: "1" };

test("of agents that start at once exactly one gets the lock, and the others leave it in place", async (t) => {
  const state = await createState(t);
  for (let round = 0; round < 20; round++) {
    const { got: [release, ...more], errors } = await startAtOnce(state.dir, 5);
    assert.deepEqual([more.length, errors.length], [0, 4]);
    const expected =
      `--state-dir ${state.dir}: process ${process.pid} is an agent that uses the same folder; stop it first`;
    assert.deepEqual([...new Set(errors)], [expected]);
    assert.match(await state.read(), new RegExp(`^\\S+ ${process.pid} `));
    assert.deepEqual(await readdir(state.dir), ["agent.lock"]);
    await release!();
    assert.deepEqual(await readdir(state.dir), []);
  }
});

test("of agents that find a dead one's lock exactly one gets it", async (t) => {
  const state = await createState(t);
  const leftovers: Record<string, () => Promise<void>> = {
    "of a process with our pid, before us": () => state.leave(startedEarlier),
    "of another boot": () => state.leave({ bootId: "x" }),
    "of no process at all": () => state.leave({ pid: 4194305 }),
    "damaged": () => state.leave({ startTime: "" }),
    "a file": () => writeFile(state.path, ""),
  };
  for (const [what, leave] of Object.entries(leftovers)) {
    for (let round = 0; round < 10; round++) {
      await leave();
      const { got, errors } = await startAtOnce(state.dir, 5);
      assert.deepEqual([got.length, errors.length], [1, 4], what);
      assert.deepEqual(await readdir(state.dir), ["agent.lock"]);
      await got[0]!();
    }
  }
});

test("an agent that died while it removed a dead agent's lock blocks no other", async (t) => {
  const state = await createState(t);
  await state.leave(startedEarlier);
  await symlink(await state.read(), `${state.path}.removal`);
  const { got } = await startAtOnce(state.dir, 3);
  assert.equal(got.length, 1);
  assert.deepEqual(await readdir(state.dir), ["agent.lock"]);
});

test("a dead one's lock is left to who is just removing it", async (t) => {
  const state = await createState(t);
  await state.leave();
  await rename(state.path, `${state.path}.removal`);
  await state.leave(startedEarlier);
  const left = await state.read();
  await assert.rejects(
    lockState(state.dir),
    new RegExp(`process ${process.pid} is an agent that uses the same folder`),
  );
  assert.equal(await state.read(), left);
});

test("the lock of another living process is refused by its pid, and that of a dead one is not", async (t) => {
  const state = await createState(t);
  const other = spawn("sleep", ["60"]);
  t.after(() => other.kill("SIGKILL"));
  await once(other, "spawn");
  await state.leave(parseStat(await readFile(`/proc/${other.pid}/stat`, "utf8")));
  const left = await state.read();
  await assert.rejects(
    lockState(state.dir),
    new RegExp(`process ${other.pid} is an agent that uses the same folder`),
  );
  assert.equal(await state.read(), left);
  other.kill("SIGKILL");
  await once(other, "exit");
  await (await lockState(state.dir))();
});

test("an agent that ends removes its own lock and no other's", async (t) => {
  const state = await createState(t);
  const release = await lockState(state.dir);
  await state.leave(startedEarlier);
  const others = await state.read();
  await release();
  assert.equal(await state.read(), others);
});

test("a state folder that cannot be made is refused with its flag, in words", async () => {
  await assert.rejects(
    lockState("/dev/null/x"),
    /^Error: --state-dir \/dev\/null\/x: not a folder, or below a file; /,
  );
  await assert.rejects(
    lockState("/proc/x"),
    /^Error: --state-dir \/proc\/x: no folder can be created there$/,
  );
});

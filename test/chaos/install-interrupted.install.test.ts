import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createSandbox, fakeExecutable, installScript, type Sandbox, shells } from "../install/sandbox.ts";

// Not busybox: its built-in programs cannot be wrapped.
const shell = shells.find(([file]) => file !== "busybox") ?? ["sh"];

test("install.sh truncated at any of 500 places does nothing", async () => {
  await using machine = await createSandbox();
  const whole = await readFile(installScript);
  const binary = join(machine.dir, "nckubelet");
  await writeFile(binary, fakeExecutable("1.0.0"), { mode: 0o755 });
  const env = machine.environment({ NCKUBELET_BINARY: binary });
  const before = await machine.list();
  // The script is complete without its last newline.
  const last = whole.length - 1;
  const offsets = [...Array(460).keys()].map((index) => Math.floor(index * last / 460));
  for (let back = 1; back <= 40; back++) offsets.push(last - back);
  for (const offset of offsets) {
    // The download comes through a pipe, as from curl.
    spawnSync(shell.join(" "), [], { input: whole.subarray(0, offset), env });
    assert.deepEqual(await machine.list(), before, `after a cut at ${offset} of ${whole.length}`);
  }
  const { status } = spawnSync("sh", [], { input: whole, env: { ...env, NCKUBELET_EXEC: "--listen x" } });
  assert.equal(status, 0, "the whole script installs");
});

const changing = ["mv", "cp", "ln", "mkdir", "chmod", "rm", "systemctl"];

for (const upgrade of [false, true]) {
  const what = upgrade ? "an upgrade" : "an installation";
  test(`the next run completes ${what} that was killed at any step`, async () => {
    const goal = await attempt(upgrade, undefined);
    let step = 1;
    for (; step < 200; step++) {
      const reached = await attempt(upgrade, step);
      if (!reached.killed) break;
      assert.deepEqual(reached.paths, goal.paths, `killed at step ${step}`);
      assert.ok(reached.restarted, `killed at step ${step}: the agent runs what is installed`);
    }
    assert.ok(step > 10 && step < 200, `${step} steps`);
  });
}

for (const next of ["nckubelet-rollback.sh", "install.sh"] as const) {
  test(`${next} completes a rollback that was killed at any step, with a whole executable at all times`, async () => {
    let step = 1;
    for (; step < 50; step++) {
      const reached = await attemptRollback(step, next);
      // The last step removes the lock, after the rollback.
      if (!reached.killed || reached.isDone) break;
      // Before the first step, install.sh has nothing to complete.
      const restarts = reached.begun || next !== "install.sh" ? ["restart nckubelet.service"] : [];
      assert.deepEqual(reached.calls, restarts, `killed at step ${step}: apps are left alone`);
      assert.deepEqual(reached.executables, next === "install.sh" ? ["2.0.0", "1.0.0"] : ["1.0.0", "2.0.0"]);
    }
    assert.ok(step > 5 && step < 50, `${step} steps`);
  });
}

/** Rolls back an upgraded machine, is killed at the given call of a program that changes something, then runs the next script. */
async function attemptRollback(step: number, next: "nckubelet-rollback.sh" | "install.sh") {
  await using machine = await createSandbox();
  for (const version of ["1.0.0", "2.0.0"]) {
    await machine.publish(fakeExecutable(version));
    assert.equal((await machine.run(shell)).code, 0);
  }
  const bin = join(machine.root, "usr/local/bin");
  const rollback = join(bin, "nckubelet-rollback.sh");
  const before = await machine.list();
  await machine.calls();
  const killed = await runUntil(machine, step, rollback);
  const read = async (name: string) => {
    const text = await readFile(join(bin, name), "utf8");
    const version = ["1.0.0", "2.0.0"].find((version) => text === fakeExecutable(version));
    assert.ok(version, `killed at step ${step}: ${name} is whole`);
    return version;
  };
  const executables = () => Promise.all(["nckubelet", "nckubelet.previous"].map(read));
  const [current] = await executables();
  const begun = existsSync(join(bin, ".nckubelet.now"));
  const isDone = !begun && current === "1.0.0";
  if (killed) {
    await machine.calls();
    const { code, stderr } = await machine.run(shell, next === "install.sh" ? installScript : rollback);
    assert.deepEqual([code, stderr], [0, ""]);
  }
  const names = (lines: string[]) => lines.map((line) => line.split(" ")[0]);
  assert.deepEqual(
    names(await machine.list()),
    names(before),
    `killed at step ${step}: nothing is left behind`,
  );
  const calls = (await machine.calls()).filter((call) => call !== "daemon-reload");
  return { killed, begun, isDone, executables: await executables(), calls };
}

/** Installs on a new machine, is killed at the given call of a program that changes something, then runs to completion. */
async function attempt(upgrade: boolean, step: number | undefined) {
  await using machine = await createSandbox();
  if (upgrade) {
    assert.equal((await machine.run(shell)).code, 0);
    await machine.publish(fakeExecutable("2.0.0"));
    await machine.calls();
  }
  const killed = await runUntil(machine, step ?? 0, installScript);
  if (killed) {
    const executable = await readFile(join(machine.root, "usr/local/bin/nckubelet"), "utf8").catch(() => "");
    assert.ok(!upgrade || executable !== "", "there is always an executable");
    const again = await machine.run(shell);
    assert.deepEqual([again.code, again.stderr], [0, ""]);
  }
  const calls = await machine.calls();
  return {
    killed,
    // The flags contain the port of this machine's server.
    paths: (await machine.list()).map((line) => line.replace(/(agent\.env \d+).*/, "$1")),
    restarted: calls.includes("restart nckubelet.service"),
  };
}

/** Runs a script that is killed at the given call of a program that changes something; reports whether it got there. */
async function runUntil(machine: Sandbox, step: number, script: string): Promise<boolean> {
  await writeFile(join(machine.dir, "count"), "0");
  await wrap(machine, step);
  const killer = join(machine.dir, "start.sh");
  await writeFile(killer, `echo $$ >${machine.dir}/pid\nexec ${shell.join(" ")} ${script}\n`);
  const { code } = await machine.run(shell, killer);
  await rm(join(machine.dir, "wrapped"), { recursive: true });
  assert.ok(code === 0 || code === null, `killed, not failed: ${code}`);
  return code === null;
}

/** Wraps programs to count their calls, and to kill the script at one of them, before it has an effect. */
async function wrap(machine: Sandbox, step: number): Promise<void> {
  const folder = join(machine.dir, "wrapped");
  await mkdir(folder);
  for (const tool of changing) {
    const text = `#!/bin/sh
read -r count <${machine.dir}/count
echo $((count + 1)) >${machine.dir}/count
if [ $((count + 1)) = ${step} ]; then
  read -r pid <${machine.dir}/pid
  kill -9 "$pid"
  exit 1
fi
PATH=\${PATH#*:} exec ${tool} "$@"
`;
    await writeFile(join(folder, tool), text, { mode: 0o755 });
  }
}

/** nckubelet-uninstall.sh with real processes as apps; a file stands in for the list of processes that the kernel keeps of a cgroup. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { test, type TestContext } from "node:test";
import { createSandbox, type Sandbox, shells } from "./sandbox.ts";

/** Starts a process with this environment, and waits until it runs. */
async function startProcess(t: TestContext, words: string, env: Record<string, string> = {}) {
  const child = spawn("sh", ["-c", `${words}; echo ready; exec sleep 1000`], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

/** Returns the signal that ended it; fails if it is still alive. */
const ending = async (child: ChildProcess) =>
  child.signalCode ?? (await once(child, "exit", { signal: AbortSignal.timeout(5000) }))[1];
const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

/** Writes the agent's record of a run, and its cgroup with these lines in its list of processes. */
async function writeRun(
  machine: Sandbox,
  state: string,
  run: { id: string; leaf: string; pids?: unknown[] },
) {
  const folder = join(machine.root, state, "runs", run.id);
  await mkdir(folder, { recursive: true });
  const environment = `/run/elsewhere/private-1234/${run.id}`;
  const inside = { leaf: run.leaf, user: "", workingDir: "/", gid: 0, environment };
  await writeFile(join(folder, "inside.json"), JSON.stringify(inside));
  await mkdir(join(machine.root, dirname(environment)), { recursive: true });
  for (const path of [environment, join(dirname(environment), ".values-default_web")]) {
    await writeFile(join(machine.root, path), "export SECRET='x'\n");
  }
  if (run.leaf === "") return;
  await mkdir(join(machine.root, run.leaf), { recursive: true });
  await writeFile(join(machine.root, run.leaf, "cgroup.procs"), `${(run.pids ?? []).join("\n")}\n`);
}

/** Shortens each pause of the script, and removes ended processes from the lists after it. */
async function keepLists(machine: Sandbox) {
  const words = `/bin/sleep 0.05
find ${machine.root}/sys/fs/cgroup -name cgroup.procs | while read -r file; do
  while read -r pid; do [ "$pid" = 0 ] || ! kill -0 "$pid" || echo "$pid"; done <"$file" >"$file.new"
  mv "$file.new" "$file"
done 2>/dev/null`;
  await writeFile(join(machine.tools, "sleep"), `#!/bin/sh\n${words}\n`);
}

async function installed(shell: string[]) {
  const machine = await createSandbox();
  assert.equal((await machine.run(shell)).code, 0);
  await symlink("/proc", join(machine.root, "proc"));
  const uninstall = () =>
    machine.run(shell, join(machine.root, "usr/local/bin/nckubelet-uninstall.sh"), {}, ["--purge"]);
  return { machine, uninstall };
}

const [first, second, third, foreign] = [
  "mabc1-0123456789",
  "mabc2-0123456789",
  "mabc3-0123456789",
  "mabc4-0123456789",
] as const;

for (const shell of shells) {
  const name = shell.join(" ");

  test(`${name}: uninstall stops the apps below any root and those without a cgroup, and no other process`, async (t) => {
    const { machine, uninstall } = await installed(shell);
    await using _ = machine;
    await keepLists(machine);
    const stubborn = await startProcess(t, "trap '' TERM");
    const marked = await startProcess(t, ":", { NCAPP_RUN: second });
    const outside = await startProcess(t, ":");
    const unknown = await startProcess(t, ":", { NCAPP_RUN: foreign });
    const state = "var/lib/nckubelet";
    const leaf = `/sys/fs/cgroup/edge/nckubelet/default_web/${first}`;
    await writeRun(machine, state, { id: first, leaf, pids: [stubborn.pid, 0] });
    await writeRun(machine, state, { id: second, leaf: "" });
    await writeRun(machine, state, { id: third, leaf: `/srv/no-cgroup/${third}`, pids: [outside.pid] });

    const { code, stdout, stderr } = await uninstall();
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual([await ending(stubborn), await ending(marked)], ["SIGKILL", "SIGTERM"]);
    assert.deepEqual([isRunning(outside), isRunning(unknown)], [true, true]);
    assert.match(stdout, /removed NC-Kubelet from this machine/);
    assert.ok(!existsSync(join(machine.root, "run/elsewhere/private-1234")), "no Secret is left");
  });

  test(`${name}: uninstall finds the apps of a state folder that the settings name, and reports that the folder stays`, async (t) => {
    const { machine, uninstall } = await installed(shell);
    await using _ = machine;
    await keepLists(machine);
    const etc = join(machine.root, "etc/nckubelet");
    await writeFile(join(etc, "config.yaml"), "state-dir: '/srv/my state/' # mine\nlog-dir: /srv/none\n");
    await writeFile(join(etc, "agent.env"), "NCKUBELET_LOG_DIR=/srv/logs\n");
    await mkdir(join(machine.root, "srv/logs"), { recursive: true });
    const app = await startProcess(t, ":");
    const leaf = `/sys/fs/cgroup/nckubelet.slice/other.scope/default_web/${first}`;
    await writeRun(machine, "srv/my state", { id: first, leaf, pids: [app.pid] });

    const { code, stdout, stderr } = await uninstall();
    assert.deepEqual([code, stderr, await ending(app)], [0, "", "SIGTERM"]);
    assert.match(stdout, /: done; kept, since the settings name them: \/srv\/my state \/srv\/logs\n/);
    assert.doesNotMatch(stdout, /removed NC-Kubelet/);
    assert.deepEqual(readdirSync(join(machine.root, "srv/my state")), ["runs"]);
  });

  test(`${name}: uninstall names the processes that it could not stop, and fails`, async () => {
    const { machine, uninstall } = await installed(shell);
    await using _ = machine;
    const leaf = `/sys/fs/cgroup/edge/default_web/${first}`;
    // Not a process of this machine: its list never becomes empty.
    await writeRun(machine, "var/lib/nckubelet", { id: first, leaf, pids: [999_999_999] });
    const { code, stdout, stderr } = await uninstall();
    assert.equal(code, 1);
    assert.match(stderr, /^nckubelet-uninstall: cannot stop these processes of apps: 999999999 \n$/);
    assert.doesNotMatch(stdout, /removed NC-Kubelet/);
  });
}

test("uninstall --purge empties a state or log folder that is a mount point, leaves the mount point, and says so", async (t) => {
  const { machine, uninstall } = await installed(["sh"]);
  await using _ = machine;
  const folders = ["var/lib/nckubelet", "var/log/nckubelet"].map((name) => join(machine.root, name));
  // One is a mount point itself, the other has one below.
  const mounts = [folders[0]!, join(folders[1]!, "default_web")];
  using _mounted = {
    [Symbol.dispose]: () => mounts.forEach((mount) => spawnSync("umount", ["-l", mount])),
  };
  for (const mount of mounts) {
    await mkdir(mount, { recursive: true });
    const { status } = spawnSync("mount", ["-t", "tmpfs", "tmpfs", mount]);
    if (status !== 0) return t.skip("no file system can be mounted here");
    await mkdir(join(mount, "folder"));
    await writeFile(join(mount, "folder/.file"), "");
  }
  const { code, stdout, stderr } = await uninstall();
  assert.deepEqual([code, stderr], [0, ""]);
  for (const [index, mount] of mounts.entries()) {
    assert.ok(stdout.includes(`emptied ${folders[index]}; these mount points stay: ${mount} \n`), stdout);
    assert.deepEqual(readdirSync(mount), []);
  }
  assert.match(stdout, /removed NC-Kubelet from this machine/);
});

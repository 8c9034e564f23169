/** Processes that leave the cgroup of their app, and apps that manage their own cgroups. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { locateRoot } from "../../../cgroups/mod.ts";
import { createCgroupConfinement } from "../../../src/supervisor/confinement/confinement.ts";
import { readStat } from "../../../src/supervisor/processes.ts";
import { createTestNode } from "../../supervisor/test-node.ts";
import { waitFor } from "../../wait-for.ts";

const size = { cpus: cpus().length, memoryBytes: totalmem() };
const rootAt = (name: string) => `${process.env.CGROUP_ROOT}/${name}`;

async function confine() {
  const root = await locateRoot({ override: rootAt("strays") });
  if (!root.ok) throw new Error(root.message);
  return createCgroupConfinement({ root, size });
}

/** Moves the calling shell out of its cgroup, as PAM does with everything that `su -` starts. */
const leave = (elsewhere: string) => `echo 0 >${elsewhere}/cgroup.procs`;

function makeElsewhere(name: string): string {
  const dir = rootAt(name);
  mkdirSync(dir, { recursive: true });
  return dir;
}

async function createRootNode() {
  const node = await createTestNode(await confine());
  const cgroupOf = async (pid: number) => (await readFile(`/proc/${pid}/cgroup`, "utf8")).trim();
  /** Waits until the process is in the leaf of the app's run. */
  const isBack = (name: string, pid: number) =>
    waitFor(`process ${pid} is back`, async () => {
      node.supervisor.tick();
      return (await cgroupOf(pid)).endsWith(`/default_${name}/${node.record(name).run!.id}`);
    });
  return { node, cgroupOf, isBack };
}

test("a script that leaves its cgroup is put back, and a stop ends it", async () => {
  const { node, isBack } = await createRootNode();
  await using _node = node;
  const elsewhere = makeElsewhere("elsewhere");
  const shellFile = await node.script(
    "leave.sh",
    `#!/bin/sh\n${leave(elsewhere)}\necho up\nexec sleep 300\n`,
  );
  await node.assign("leave", { shellFile, cpuPCT: 10, terminationGracePeriodSeconds: 1 });
  await node.logHas("leave", "up");
  const { run } = await node.reach("leave", "Running");
  await isBack("leave", run!.main!.pid);
  await waitFor("caps hold", () => node.supervisor.get("default/leave")?.caps?.enforced === true);
  assert.equal((await node.supervisor.readUsage("default/leave"))?.processes, 1);
  node.supervisor.withdraw("default/leave");
  await node.gone("leave");
  assert.ok(!node.isAlive(run!.main!));
});

test("a daemon without the script's environment, session, parent and cgroup keeps its app running, and ends with it", async () => {
  const { node, isBack } = await createRootNode();
  await using _node = node;
  const elsewhere = makeElsewhere("elsewhere");
  const [pidFile, starts] = [join(node.folder, "pid"), join(node.folder, "starts")];
  const daemon = `echo $$ >${pidFile}; exec sleep 300`;
  const shellFile = await node.script(
    "daemon.sh",
    `#!/bin/sh\necho start >>${starts}\n(${leave(elsewhere)}; exec env -i setsid sh -c '${daemon}') &\n` +
      `while [ ! -s ${pidFile} ]; do sleep 0.1; done\n`,
  );
  await node.assign("daemon", { shellFile, restartPolicy: "Always", backoffSeconds: 0 });
  const { run } = await node.reach("daemon", "Running", ({ run }) => run?.survivor !== undefined);
  const pid = Number(await readFile(pidFile, "utf8"));
  assert.equal(run?.survivor, pid);
  await isBack("daemon", pid);
  assert.equal(await readFile(starts, "utf8"), "start\n");
  node.supervisor.withdraw("default/daemon");
  await node.gone("daemon");
  assert.equal(readStat(pid), undefined);
});

test("a process with the marker of another app stays in the cgroup of its own", async () => {
  const { node, cgroupOf } = await createRootNode();
  await using _node = node;
  const victim = await node.script("victim.sh", "#!/bin/sh\nexec sleep 300\n");
  await node.assign("victim", { shellFile: victim });
  const { run } = await node.reach("victim", "Running");
  const shellFile = await node.script(
    "thief.sh",
    `#!/bin/sh\nNCAPP_RUN=${run!.id} sleep 300 &\necho child $!\nwait\n`,
  );
  await node.assign("thief", { shellFile });
  const pid = Number(/^child (\d+)$/m.exec(await node.logHas("thief", "child "))?.[1]);
  const before = await cgroupOf(pid);
  assert.match(before, /\/default_thief\//);
  node.supervisor.withdraw("default/victim");
  await node.gone("victim");
  assert.equal(await cgroupOf(pid), before);
});

test("a process that cannot be put back is reported as escaped, and a stop ends it", async () => {
  const { node } = await createRootNode();
  await using _node = node;
  const elsewhere = makeElsewhere("elsewhere");
  const shellFile = await node.script(
    "escape.sh",
    `#!/bin/sh\nleaf=/sys/fs/cgroup$(sed s/0:://p -n /proc/self/cgroup)\n` +
      // It leaves again if the agent puts it back before the leaf is gone.
      `until ${
        leave(elsewhere)
      }; rmdir "$leaf" 2>/dev/null; do sleep 0.1; done\necho ready\nexec sleep 300\n`,
  );
  await node.assign("escape", { shellFile, memPCT: 10, terminationGracePeriodSeconds: 1 });
  await node.logHas("escape", "ready");
  const { run } = await node.reach("escape", "Running");
  const caps = await waitFor("it is reported", () => {
    node.supervisor.tick();
    const caps = node.supervisor.get("default/escape")?.caps;
    return caps?.enforced === false ? caps : undefined;
  });
  assert.equal(caps.reason, "Escaped");
  assert.match(caps.message, new RegExp(`^process ${run!.main!.pid} left the cgroup of the app`));
  node.supervisor.withdraw("default/escape");
  await node.gone("escape");
  assert.ok(!node.isAlive(run!.main!));
});

test("an exec probe enters an app that limits cgroups of its own, and a stray is put back there", async () => {
  const { node } = await createRootNode();
  await using _node = node;
  const elsewhere = makeElsewhere("elsewhere");
  const own =
    "leaf=/sys/fs/cgroup$(sed s/0:://p -n /proc/self/cgroup); mkdir $leaf/own; echo 0 >$leaf/own/cgroup.procs; " +
    "echo +pids >${leaf%/*}/cgroup.subtree_control; until echo +pids >$leaf/cgroup.subtree_control; do sleep 0.1; done 2>/dev/null";
  const shellFile = await node.script(
    "nested.sh",
    `#!/bin/sh\n${own}\n(${leave(elsewhere)}; exec sleep 300) &\necho stray $!\necho ready\nwait\n`,
  );
  const probe = (...command: string[]) => ({
    exec: { command },
    periodSeconds: 1,
    timeoutSeconds: 10,
    failureThreshold: 1,
  });
  await node.assign("nested", {
    shellFile,
    livenessProbe: probe("true"),
    readinessProbe: probe("grep", "-q", "/own$", "/proc/self/cgroup"),
  });
  const log = await node.logHas("nested", "ready");
  const { restarts, lastExit } = await node.reach("nested", "Running", ({ run }) => run?.ready === true);
  assert.equal(restarts, 0, lastExit?.message ?? "");
  const stray = /^stray (\d+)$/m.exec(log)![1];
  const confinement = await confine();
  await node.restartAgent(undefined, confinement);
  await waitFor("the stray is back", async () => {
    node.supervisor.tick();
    return /default_nested\/.*\/own$/m.test(await readFile(`/proc/${stray}/cgroup`, "utf8"));
  });
});

test("threads are not counted as processes", async () => {
  const { node } = await createRootNode();
  await using _node = node;
  const shellFile = await node.script(
    "threads.sh",
    `#!/bin/sh\nexec ${process.execPath} -e 'console.log("up"); setInterval(() => {}, 1e6)'\n`,
  );
  await node.assign("threads", { shellFile });
  await node.logHas("threads", "up");
  assert.equal((await node.supervisor.readUsage("default/threads"))?.processes, 1);
});

test("without sessions, what `su -` starts stays in the cgroup of the app and ends with it", async () => {
  const { node, isBack } = await createRootNode();
  await using _node = node;
  const shellFile = await node.script(
    "su.sh",
    "#!/bin/sh\nsu - -s /bin/sh nobody -c 'echo user $(id -un) pid $$; exec sleep 300'\n",
  );
  await node.assign("su", { shellFile, terminationGracePeriodSeconds: 1 });
  const log = await node.logHas("su", "pid ");
  const pid = Number(/^user nobody pid (\d+)$/m.exec(log)?.[1]);
  await node.reach("su", "Running");
  await isBack("su", pid);
  node.supervisor.withdraw("default/su");
  await node.gone("su");
  assert.equal(readStat(pid), undefined);
});

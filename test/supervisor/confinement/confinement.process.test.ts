import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { LocatedRoot } from "../../../cgroups/mod.ts";
import {
  createCgroupConfinement,
  createMarkerConfinement,
  createNodeConfinement,
} from "../../../src/supervisor/confinement/confinement.ts";
import { ProcessTable } from "../../../src/supervisor/process-table.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { createTestNode, type TestNode } from "../test-node.ts";

const size = { cpus: 2, memoryBytes: 2 ** 30 };
const markers = createMarkerConfinement("this test uses markers");
const run = { folder: "default_web", runId: "mf3k2x9a-0123456789" };

function locatedAt(root: string, controllers: string[] = []): LocatedRoot {
  return { ok: true, root, how: "override", controllers, keeper: join(root, "keeper") };
}

/** A plain folder where a cgroup file system would be, with the cgroups of one run below each of two roots. */
function layOutRoots(t: { after(fn: () => void): void }) {
  const mount = tempFolder(t).path;
  const files = {
    "cgroup.events": "populated 1\nfrozen 0\n",
    "cgroup.procs": "4194000\n",
    "cgroup.kill": "",
  };
  for (const root of ["now", "before"]) {
    const app = join(mount, root, run.folder);
    const leaf = join(app, run.runId);
    mkdirSync(leaf, { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(leaf, file), text);
    writeFileSync(join(app, "pids.max"), "max");
    writeFileSync(join(app, "cpu.max"), "max 100000");
    writeFileSync(join(app, "cpu.stat"), "usage_usec 1000000\n");
  }
  const recalled: string[] = [];
  const current = createCgroupConfinement({ root: locatedAt(join(mount, "now")), size });
  const confinement = createNodeConfinement({
    current,
    markers: createMarkerConfinement("this test has no processes", {
      scan: async () => new ProcessTable([]),
    }),
    size,
    recall(root) {
      recalled.push(root);
      return dirname(root) === mount ? locatedAt(root, ["pids"]) : undefined;
    },
  });
  const read = (file: string) => readFileSync(join(mount, file), "utf8");
  return { mount, current, confinement, recalled, read };
}

test("a run is observed, killed, limited and measured where it was started; a run without a leaf, where new ones go", async (t) => {
  const { mount, current, confinement, recalled, read } = layOutRoots(t);
  const before = { ...run, leaf: join(mount, "before", run.folder, run.runId) };
  writeFileSync(join(mount, "before", run.folder, run.runId, "cgroup.procs"), "4194001\n");
  const now = { ...run, leaf: current.leafOf(run) };
  assert.deepEqual(await confinement.processes(before), [4194001]);
  assert.deepEqual(await confinement.processes(run), [4194000]);
  assert.deepEqual(await confinement.processes(now), [4194000]);
  await confinement.kill(before);
  assert.equal(read(`before/${run.folder}/${run.runId}/cgroup.kill`), "1");
  assert.equal(read(`now/${run.folder}/${run.runId}/cgroup.kill`), "");
  assert.equal((await confinement.usage(before))?.cpuSeconds, 1);
  const caps = { cpuPCT: 25, pidsMax: 100, oomPolicy: "Group" } as const;
  const state = await confinement.ensureCaps(before, caps);
  assert.ok(!state.enforced);
  assert.match(
    state.message,
    /^cannot set cpu\.max 50000 100000: the app was started below .*before, which lacks/,
  );
  assert.equal(read(`before/${run.folder}/pids.max`), "100");
  assert.equal(read(`now/${run.folder}/pids.max`), "max");
  assert.deepEqual(recalled, [join(mount, "before")]);
});

test("a leaf that cannot be that of the run is never touched: the run is found by its marker", async (t) => {
  const { mount, confinement, read } = layOutRoots(t);
  const leaf = join(mount, "before", run.folder, run.runId);
  const outside = join(mount, "outside/deeper");
  mkdirSync(join(outside, run.folder, run.runId), { recursive: true });
  for (const file of ["cgroup.events", "cgroup.procs", "cgroup.kill"]) {
    writeFileSync(join(outside, run.folder, run.runId, file), read(`now/${run.folder}/${run.runId}/${file}`));
  }
  const strange = [
    { ...run, leaf: join(outside, run.folder, run.runId) },
    { ...run, leaf: `${mount}/outside/../before/${run.folder}/${run.runId}` },
    { ...run, leaf: `${leaf}/` },
    { ...run, leaf: leaf.slice(1) },
    { ...run, leaf: dirname(leaf) },
    { ...run, leaf: mount },
    { ...run, leaf: "/" },
    { ...run, leaf, folder: "default_other" },
    { ...run, leaf, folder: "" },
    { ...run, leaf, runId: "mf3k2x9a-9876543210" },
    { ...run, leaf: join(mount, "before", run.folder, "worker"), runId: "worker" },
  ];
  for (const run of strange) {
    assert.deepEqual(await confinement.processes(run), [], run.leaf);
    await confinement.signal(run, "SIGTERM");
    await confinement.kill(run);
    await confinement.removeRun(run);
  }
  assert.equal(read(`before/${run.folder}/${run.runId}/cgroup.kill`), "");
  assert.equal(read(`outside/deeper/${run.folder}/${run.runId}/cgroup.kill`), "");
});

test("a leaf outside of the cgroup file system is never touched, going by the kernel's list of mounts", async (t) => {
  const { mount, current, read } = layOutRoots(t);
  const before = { ...run, leaf: join(mount, "before", run.folder, run.runId) };
  const confinement = createNodeConfinement({ current, size });
  await confinement.kill(before);
  assert.equal(read(`before/${run.folder}/${run.runId}/cgroup.kill`), "");
  const state = await confinement.ensureCaps(before, { oomPolicy: "Group" });
  assert.deepEqual(state, {
    enforced: false,
    reason: "LimitsUnavailable",
    message:
      "the app was started without cgroups: restart it to have its caps enforced; without cgroups, a " +
      "process that clears its environment and starts its own session may be lost",
  });
});

/** Restarts the agent with cgroups. They are a plain folder, since these tests start nothing in them. */
async function restartWithCgroups(node: TestNode, whileDown?: () => Promise<void>): Promise<void> {
  const root = join(node.folder, "cgroups");
  mkdirSync(root);
  const current = createCgroupConfinement({ root: locatedAt(root), size });
  await node.restartAgent(whileDown, createNodeConfinement({ current, size }));
}

test("an app that was started without cgroups is stopped by an agent that has them", async () => {
  await using node = await createTestNode(markers);
  const shellFile = await node.script("app.sh", "#!/bin/sh\nexec sleep 300\n");
  await node.assign("app", { shellFile, terminationGracePeriodSeconds: 1 });
  const { run } = await node.reach("app", "Running");
  await restartWithCgroups(node);
  assert.equal((await node.reach("app", "Running")).run?.id, run?.id);
  const processes = async () => (await node.supervisor.readUsage("default/app"))?.processes;
  await waitFor("it is measured", async () => await processes() === 1);
  node.supervisor.withdraw("default/app");
  await node.gone("app");
  await node.liveRuns(0);
});

test("a daemon that was started without cgroups is not started a second time by an agent that has them", async () => {
  await using node = await createTestNode(markers);
  const starts = join(node.folder, "starts");
  const shellFile = await node.script(
    "daemon.sh",
    `#!/bin/sh\necho begun >>${starts}\nsetsid sleep 300 &\n`,
  );
  await node.assign("daemon", { shellFile, restartPolicy: "Always", backoffSeconds: 0 });
  const { run } = await node.reach("daemon", "Running", ({ run }) => run?.survivor !== undefined);
  await restartWithCgroups(node);
  for (let look = 0; look < 3; look++) await node.supervisor.tick();
  assert.equal((await node.reach("daemon", "Running")).run?.id, run?.id);
  assert.equal(await readFile(starts, "utf8"), "begun\n");
  await node.liveRuns(1);
  node.supervisor.withdraw("default/daemon");
  await node.gone("daemon");
  await node.liveRuns(0);
});

test("a run without cgroups that no record knows any more is killed by an agent that has them", async () => {
  await using node = await createTestNode(markers);
  const shellFile = await node.script("lost.sh", "#!/bin/sh\nexec sleep 300\n");
  await node.assign("lost", { shellFile });
  const { run } = await node.reach("lost", "Running");
  await node.liveRuns(1);
  await restartWithCgroups(node, async () => {
    rmSync(join(node.layout.stateDir, "apps"), { recursive: true });
    rmSync(join(node.layout.stateDir, "runs", run!.id), { recursive: true });
  });
  await waitFor("the run is killed", async () => await node.livingRuns() === 0);
});

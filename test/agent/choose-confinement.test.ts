import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type LocateOptions, locateRoot } from "../../cgroups/mod.ts";
import { chooseConfinement } from "../../src/agent/choose-confinement.ts";
import { silentLogger } from "../../src/lib/log.ts";
import type { Caps } from "../../src/supervisor/confinement/confinement.ts";
import { layOutScene } from "../cgroups/scene.ts";

const size = { cpus: 2, memoryBytes: 2 ** 30 };
const web = { folder: "default_web", runId: "run-1" };
const caps = (some: Partial<Caps>): Caps => ({ pidsMax: 100, oomPolicy: "Group", ...some });

/** A captured machine whose root, keeper and app are there beforehand, with the files that its kernel would have made. */
function prepareScene(
  name: string,
  t: Parameters<typeof layOutScene>[1],
  { mount = "/sys/fs/cgroup", enabled = "", keeperFiles = {}, appFiles = {} }: {
    mount?: string;
    enabled?: string;
    keeperFiles?: Record<string, string>;
    appFiles?: Record<string, string>;
  },
) {
  const scene = layOutScene(name, t);
  const files = { "cgroup.subtree_control": enabled };
  scene.addCgroup(mount, files);
  scene.addCgroup(`${mount}/nckubelet`, files);
  scene.addCgroup(`${mount}/nckubelet/keeper`, keeperFiles);
  const app = scene.addCgroup(`${mount}/nckubelet/default_web`, appFiles);
  const needs: (readonly string[] | undefined)[] = [];
  const locate = (options: LocateOptions = {}) => {
    needs.push(options.need);
    return locateRoot({ ...options, ...scene, uid: 0, systemdMarker: "/nowhere" });
  };
  const read = (file: string) => readFileSync(join(app, file), "utf8").trim();
  return { locate, needs, read };
}

test("a controller that is switched off takes its own caps away, and no others", async (t) => {
  const { locate, needs, read } = prepareScene("memory-disabled", t, {
    enabled: "cpu pids",
    keeperFiles: { "cpu.max": "max 100000" },
    appFiles: { "cpu.max": "max 100000", "pids.max": "max" },
  });
  const { confinement } = await chooseConfinement({ size, log: silentLogger, locate });
  assert.deepEqual(needs, [["cpu", "memory", "pids"], ["cpu", "pids"]]);
  assert.deepEqual(await confinement.ensureCaps(web, caps({ cpuPCT: 25 })), { enforced: true });
  assert.deepEqual([read("cpu.max"), read("pids.max")], ["50000 100000", "100"]);
  const both = await confinement.ensureCaps(web, caps({ cpuPCT: 50, memPCT: 10 }));
  assert.ok(!both.enforced);
  assert.equal(both.reason, "LimitsUnavailable");
  assert.match(
    both.message,
    /^cannot set memory\.swap\.max 0, memory\.max \d+: controller memory is disabled/,
  );
  assert.equal(read("cpu.max"), "100000 100000");
});

test("a cpu controller without cpu.max is as good as none", async (t) => {
  const { locate, needs } = prepareScene("unified", t, {
    enabled: "cpu memory pids",
    appFiles: { "pids.max": "max", "memory.max": "max", "memory.oom.group": "0" },
  });
  const { confinement } = await chooseConfinement({ size, log: silentLogger, locate });
  assert.deepEqual(needs, [["cpu", "memory", "pids"], ["memory", "pids"]]);
  assert.deepEqual(await confinement.ensureCaps(web, caps({})), { enforced: true });
  const capped = await confinement.ensureCaps(web, caps({ cpuPCT: 25 }));
  assert.ok(!capped.enforced);
  assert.match(capped.message, /^cannot set cpu\.max 50000 100000: the cpu controller .* has no cpu\.max/);
});

test("a hybrid machine is asked for a tree without controllers next, and says which v1 holds", async (t) => {
  const { locate, needs } = prepareScene("hybrid", t, { mount: "/sys/fs/cgroup/unified" });
  const { confinement } = await chooseConfinement({ size, log: silentLogger, locate });
  assert.deepEqual(needs, [["cpu", "memory", "pids"], []]);
  assert.match(confinement.whyNoLimits, /^cgroup v1 holds controllers cpu, memory, pids/);
  assert.deepEqual(await confinement.ensureCaps(web, caps({})), { enforced: true });
  const capped = await confinement.ensureCaps(web, caps({ cpuPCT: 25 }));
  assert.ok(!capped.enforced);
  assert.match(capped.message, /^cannot set cpu\.max 50000 100000: cgroup v1 holds/);
});

test("a failure that names no controller is not retried with fewer controllers", async () => {
  const needs: unknown[] = [];
  const { confinement } = await chooseConfinement({
    size,
    log: silentLogger,
    async locate({ need } = {}) {
      needs.push(need);
      return { ok: false, reason: "v1-only", message: "only cgroup v1 is mounted" };
    },
  });
  assert.deepEqual(needs, [["cpu", "memory", "pids"], []]);
  assert.equal(confinement.whyNoLimits, "only cgroup v1 is mounted");
});

test("below a configured root every agent has its own part, and lists only what is in it", async (t) => {
  const scene = layOutScene("unified", t);
  const enabled = { "cgroup.subtree_control": "cpu memory pids" };
  const cgroupRoot = scene.addCgroup("/sys/fs/cgroup/given", enabled);
  for (const leaf of ["keeper", "agent"]) scene.addCgroup(`/sys/fs/cgroup/given/${leaf}`, { "cpu.max": "" });
  for (const part of ["nckubelet", "agent-1", "agent-2"]) {
    scene.addCgroup(`/sys/fs/cgroup/given/${part}`, enabled);
  }
  const runId = "mf3k2x9a-0123456789";
  for (const place of ["default_web", "agent-1/default_web"]) {
    scene.addCgroup(`/sys/fs/cgroup/given/${place}/${runId}`);
  }
  const locate = (options: LocateOptions = {}) => locateRoot({ ...options, ...scene, uid: 0, pid: 1 });
  const choose = async (instance?: string) =>
    (await chooseConfinement({ size, log: silentLogger, locate, cgroupRoot, instance })).confinement;
  const [usual, one, two] = [await choose(), await choose("agent-1"), await choose("agent-2")];
  assert.equal(one.whyNoLimits, "");
  assert.deepEqual(await usual.listRuns(), []);
  assert.deepEqual(await one.listRuns(), [{ folder: "default_web", runId }]);
  assert.deepEqual(await two.listRuns(), []);
  const leaves = [usual, one, two].map((confinement) => confinement.leafOf({ folder: "default_web", runId }));
  const parts = ["nckubelet", "agent-1", "agent-2"];
  assert.deepEqual(leaves, parts.map((part) => join(cgroupRoot, part, "default_web", runId)));
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { appendFile, copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { chooseConfinement } from "../../../src/agent/choose-confinement.ts";
import { silentLogger } from "../../../src/lib/log.ts";
import {
  type Confinement,
  createMarkerConfinement,
  createNodeConfinement,
} from "../../../src/supervisor/confinement/confinement.ts";
import { supervisorContract } from "../../supervisor/contract.ts";
import { createTestNode } from "../../supervisor/test-node.ts";
import { waitFor } from "../../wait-for.ts";
import { confineBelow, rootAt, size } from "./confine-below.ts";
// In this process: another one costs seconds in User-Mode Linux.
import "./strays.ts";

function useMarkers(): Confinement {
  const markers = createMarkerConfinement("this test has no cgroups");
  return createNodeConfinement({ current: markers, markers, size });
}

supervisorContract(() => confineBelow("supervisor-test"));

const script = "#!/bin/sh\nsetsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &\nexit 0\n";

for (
  const [where, next] of [["below another root", () => confineBelow("later")], [
    "by markers",
    useMarkers,
  ]] as const
) {
  test(`an agent that starts apps ${where} keeps, limits and ends an app that was started below one root`, async () => {
    await using node = await createTestNode(await confineBelow("earlier"));
    const shellFile = await node.script("daemon.sh", script);
    const spec = { shellFile, terminationGracePeriodSeconds: 1, backoffSeconds: 0 };
    await node.assign("moved", spec);
    const { run } = await node.reach("moved", "Running", ({ run }) => run?.survivor !== undefined);
    const app = join(rootAt("earlier"), "default_moved");
    assert.equal(run?.leaf, join(app, run!.id));

    await node.restartAgent(undefined, await next());
    for (let look = 0; look < 3; look++) await node.supervisor.tick();
    assert.equal((await node.reach("moved", "Running")).run?.id, run?.id);
    await node.liveRuns(1);
    assert.ok((await node.supervisor.readUsage("default/moved"))!.processes > 0);
    await node.assign("moved", { ...spec, cpuPCT: 10 });
    const quota = String(size.cpus * 10_000);
    await waitFor("the cap", async () => (await readFile(`${app}/cpu.max`, "utf8")).startsWith(quota));
    await waitFor("it is said", () => node.supervisor.get("default/moved")?.caps?.enforced === true);

    node.supervisor.withdraw("default/moved");
    await node.gone("moved");
    await node.liveRuns(0);
    assert.ok(!existsSync(app));
  });
}

test("an app starts as soon as its user exists", async () => {
  await using node = await createTestNode(await confineBelow("users"), { now: () => 1_800_000_000_000 });
  const passwd = join(node.folder, "passwd");
  await copyFile("/etc/passwd", passwd);
  execFileSync("mount", ["--bind", passwd, "/etc/passwd"]);
  try {
    await node.assign("late", {
      shellFile: await node.script("app.sh", "#!/bin/sh\nexec sleep 300\n"),
      runAsUser: "latecomer",
    });
    const { failedStarts } = await node.reach("late", "Pending", ({ reason }) => reason === "UnknownUser");
    assert.equal(failedStarts, 1);
    await appendFile(passwd, "latecomer:x:4321:4321::/:/bin/sh\n");
    await node.reach("late", "Running");
  } finally {
    execFileSync("umount", ["/etc/passwd"]);
  }
});

test("agents that share a root but not their state leave each other's apps alone, and anything else below it", async () => {
  const cgroupRoot = rootAt("shared");
  const foreign = join(cgroupRoot, "other_tool.service/worker");
  const choose = async (instance?: string) =>
    (await chooseConfinement({ cgroupRoot, instance, size, log: silentLogger })).confinement;
  await using one = await createTestNode(await choose());
  mkdirSync(foreign, { recursive: true });
  await one.assign("app", { shellFile: await one.script("app.sh", "#!/bin/sh\nexec sleep 300\n") });
  const { run } = await one.reach("app", "Running");
  await one.liveRuns(1);
  await using two = await createTestNode(await choose("agent-2"));
  await two.restartAgent();
  await one.restartAgent();
  assert.ok(await one.isAlive(run!.main!));
  assert.equal((await one.reach("app", "Running")).run?.id, run?.id);
  assert.ok(existsSync(foreign));
  rmdirSync(foreign);
  rmdirSync(join(foreign, ".."));
});

import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { silentLogger } from "../../src/lib/log.ts";
import { createMarkerConfinement } from "../../src/supervisor/confinement/confinement.ts";
import { type Launcher, Zygote, ZygoteLauncher } from "../../src/supervisor/launcher/launcher.ts";
import { readStat } from "../../src/supervisor/processes.ts";
import { builtLauncher, crashingLauncher } from "../harness/launcher.ts";
import { skipUnless } from "../harness/parts.ts";
import { createTestNode } from "../supervisor/test-node.ts";
import { waitFor } from "../wait-for.ts";

/** A launcher whose first zygote executes `first` and serves one request; the others execute `whole`. */
function firstBy(first: string, whole: string): Launcher {
  const paths = [first];
  const startZygote = () => Zygote.start(paths.pop() ?? whole);
  const native = new ZygoteLauncher({ path: whole, log: silentLogger, startZygote });
  let served = false;
  return {
    state: native.state,
    async start(request) {
      await native.start(request);
      if (!served) process.kill(await native.pid(), "SIGKILL");
      served = true;
    },
    copyCommand: (request) => native.copyCommand(request),
    enterCommand: (...words) => native.enterCommand(...words),
    look: native.look,
    read: (...words) => native.read(...words),
    close: () => native.close(),
  };
}

/** Of the steps in launcher.c: the zygote has the first two, the script's own process the last three. */
const steps = Array.from({ length: 13 }, (_, index) => index + 1);

test("a zygote, a launcher or a script's process killed at any step leaves one instance, and no leak", {
  skip: skipUnless("compilers"),
}, async () => {
  const whole = await builtLauncher();
  await Promise.all(steps.map(async (step) => {
    const path = await crashingLauncher(step);
    await startsOnce(`step ${step}`, async () => firstBy(path, whole));
  }));
});

/** Starts an app by this launcher, ends its script, waits for the restart, and stops it: there is one instance at any time. */
async function startsOnce(what: string, launchBy: () => Promise<Launcher>): Promise<void> {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"), { launchBy });
  const end = join(node.folder, "end");
  const text = `#!/bin/sh\necho $$\nwhile [ ! -e ${end} ]; do sleep 0.1; done\nexit 7\n`;
  const shellFile = await node.script("app.sh", text);
  await node.assign("app", { shellFile, backoffSeconds: 1 });
  const { run } = await node.reach("app", "Running");
  const isUp = async () => (await node.log("app")).endsWith("\n") && await node.livingRuns() === 1;
  await waitFor(`an instance after ${what}`, isUp, 30_000);
  const pids = (await node.log("app")).trim().split("\n");
  assert.equal(pids.filter((pid) => readStat(Number(pid))).length, 1, `${what}: ${pids}`);
  await writeFile(end, "");
  // A killed launcher writes no mark: the agent finds out when it checks all apps.
  await waitFor(`a restart after ${what}`, () => {
    void node.supervisor.tick();
    const now = node.record("app");
    return now.restarts > 0 && now.run?.id !== run?.id;
  });
  node.supervisor.withdraw("default/app");
  await node.gone("app");
  await node.liveRuns(0);
  for (const folder of ["runs", "marks", "apps"]) {
    assert.deepEqual(await readdir(join(node.layout.stateDir, folder)), [], what);
  }
}

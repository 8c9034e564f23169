import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { silentLogger } from "../../src/lib/log.ts";
import { createMarkerConfinement } from "../../src/supervisor/confinement/markers.ts";
import { createShLauncher, type Launcher } from "../../src/supervisor/launcher/launcher.ts";
import { launcherScript } from "../../src/supervisor/launcher/launcher-script.ts";
import { NativeLauncher } from "../../src/supervisor/launcher/native.ts";
import { Zygote } from "../../src/supervisor/launcher/zygote.ts";
import { readStat } from "../../src/supervisor/processes.ts";
import { builtLauncher, crashingLauncher } from "../harness/launcher.ts";
import { skipUnless } from "../harness/parts.ts";
import { createTestNode } from "../supervisor/test-node.ts";
import { waitFor } from "../wait-for.ts";

/** A launcher whose first zygote executes `first` and serves one request; the others execute `whole`. */
function firstBy(first: string, whole: string, stateDir: string): Launcher {
  const paths = [first];
  const fallback = (why: string) => createShLauncher({ stateDir, why });
  const startZygote = () => Zygote.start(paths.pop() ?? whole);
  const native = new NativeLauncher({ path: whole, log: silentLogger, fallback, startZygote });
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
    close: () => native.close(),
  };
}

/** A launcher whose first run is started by `text`; the others by the whole script. */
function firstBySh(text: string, stateDir: string): Launcher {
  const whole = createShLauncher({ stateDir, why: "" });
  const launchers = [createShLauncher({ stateDir, why: "", text })];
  return { ...whole, start: (request) => (launchers.pop() ?? whole).start(request) };
}

/** Of the steps in launcher.c: the zygote has the first two, the script's own process the last three. */
const steps = Array.from({ length: 13 }, (_, index) => index + 1);

test("a zygote, a launcher or a script's process killed at any step leaves one instance, and no leak", {
  skip: skipUnless("compilers"),
}, async () => {
  const whole = await builtLauncher();
  await Promise.all(steps.map(async (step) => {
    const path = await crashingLauncher(step);
    await startsOnce(`step ${step}`, async (stateDir) => firstBy(path, whole, stateDir));
  }));
});

test("an sh launcher killed before any of its commands leaves one instance, and no leak", async () => {
  const lines = launcherScript.split("\n");
  // In the subshell `$$` is the launcher, too: the script's process goes on without it.
  const commands = [...lines.keys()].filter((at) =>
    /^ {0,2}([(]$|(read|set|exec|if|umask) |echo "(?!cannot))/.test(lines[at]!)
  );
  assert.ok(commands.length >= 12, `${commands}`);
  await Promise.all(commands.map(async (at) => {
    const text = lines.toSpliced(at, 0, "kill -KILL $$").join("\n");
    await startsOnce(`line ${at}, ${lines[at]}`, async (stateDir) => firstBySh(text, stateDir));
  }));
});

/** Starts an app by this launcher, ends its script, waits for the restart, and stops it: there is one instance at any time. */
async function startsOnce(what: string, launcher: (stateDir: string) => Promise<Launcher>): Promise<void> {
  await using node = await createTestNode(createMarkerConfinement("this test uses markers"), { launcher });
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

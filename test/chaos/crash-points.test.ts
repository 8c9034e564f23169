import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { suite, test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import { silentLogger } from "../../src/lib/log.ts";
import { createMarkerConfinement } from "../../src/supervisor/confinement/markers.ts";
import { createShLauncher, type Launcher } from "../../src/supervisor/launcher/launcher.ts";
import { launcherScript } from "../../src/supervisor/launcher/launcher-script.ts";
import { NativeLauncher } from "../../src/supervisor/launcher/native.ts";
import { Zygote } from "../../src/supervisor/launcher/zygote.ts";
import { readStat } from "../../src/supervisor/processes.ts";
import { builtLauncher, crashingLauncher, type LauncherKind, launcherKinds } from "../harness/launcher.ts";
import { checkout, skipUnless } from "../harness/parts.ts";
import { createTestNode } from "../supervisor/test-node.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

/** Two folders below the checkout, where the harness looks for its files. */
const agent = join(checkout, "dist/test/crashing-agent.mjs");
const run = promisify(execFile);

/** Of the steps in launcher.c: the zygote has the first two, the script's own process the last three. */
const steps = Array.from({ length: 13 }, (_, index) => index + 1);

// Side by side: they wait for the time that a launcher has to start its script.
suite("killed at any point", { concurrency: true }, () => {
  test("an agent killed at any point of a start or a stop leaves at most one instance, and no leak", {
    skip: skipUnless("compilers"),
  }, async (t) => {
    await Promise.all([builtLauncher(), bundleAgent()]);
    const moments = await Promise.all(launcherKinds.map((kind) => crashAgents(kind)));
    t.diagnostic(`${moments.join(" and ")} moments`);
    assert.ok(Math.min(...moments) >= 15, "a start and a stop have more effects than that");
  });

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
});

/** The folder of one test, with a script that writes its process id. */
async function createPlace(kind: LauncherKind) {
  const temp = tempFolder();
  const folder = temp.path;
  const script = join(folder, "app.sh");
  await writeFile(script, `#!/bin/sh\necho $$ >>${folder}/instances\nwhile :; do sleep 0.2; done\n`, {
    mode: 0o755,
  });
  return {
    folder,
    agent: (crashAt: number, work: "cycle" | "start") =>
      run(process.execPath, [agent, folder, script, String(crashAt), work, kind]),
    /** Live processes of the app's script. */
    living: () => processesWith((line) => line === `/bin/sh\0${script}\0`),
    /** What is left in the state folder, and all live processes that refer to it. */
    async leftovers(): Promise<string[]> {
      const state = await Promise.all(
        ["apps", "runs", "marks"].map((name) => readdir(join(folder, "state", name))),
      );
      return [...state.flat(), ...await processesWith((line) => line.includes(`${folder}/`))];
    },
    [Symbol.dispose]: temp.remove,
  };
}

async function processesWith(isOne: (line: string) => boolean): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return pids.filter((_, index) => isOne(lines[index]!));
}

/** Makes one file of the agent, which starts a hundred times: from source, that takes twice the CPU time. */
async function bundleAgent(): Promise<void> {
  await build({
    entryPoints: [join(checkout, "test/chaos/crashing-agent.ts")],
    outfile: agent,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    logLevel: "silent",
  });
}

/** Crashes an agent at each moment, two at a time, since they wait more than they compute; returns the number of moments. */
async function crashAgents(kind: LauncherKind): Promise<number> {
  let [next, moments, isOver] = [1, 0, false];
  const crashOn = async () => {
    while (!isOver) {
      if (await diesAt(next++, kind)) moments++;
      else isOver = true;
    }
  };
  await Promise.all([crashOn(), crashOn()]);
  return moments;
}

/** Crashes an agent at this moment and checks what the next ones make of it; returns whether it came that far. */
async function diesAt(moment: number, kind: LauncherKind): Promise<boolean> {
  await using place = await createPlace(kind);
  const died = await place.agent(moment, "cycle").then(
    () => false,
    (error) => error.signal === "SIGKILL" || Promise.reject(error),
  );
  await place.agent(0, "start");
  await waitFor(
    `one instance after a crash at moment ${moment}`,
    async () => (await place.living()).length === 1,
    10_000,
  );
  await place.agent(0, "cycle");
  assert.deepEqual(await place.leftovers(), [], `moment ${moment}`);
  return died;
}

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

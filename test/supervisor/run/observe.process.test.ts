import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { markPath, marksFolder } from "../../../src/supervisor/layout.ts";
import { createMarkerConfinement } from "../../../src/supervisor/confinement/confinement.ts";
import { observeRun } from "../../../src/supervisor/run/run.ts";
import { ProcessTable } from "../../../src/supervisor/process-table.ts";
import { execMarker, runMarker } from "../../../src/supervisor/processes.ts";
import { newRunId } from "../../../src/supervisor/run-ref.ts";
import type { Run, RunRef } from "../../../src/supervisor/types.ts";
import { tempFolder } from "../../temp-folder.ts";
import { appWith, runOf, start } from "../fixtures.ts";

const markers = createMarkerConfinement("no cgroups here");

test("an empty claim counts as a living launcher for ten seconds of waiting, whatever the clock says", async () => {
  using temp = tempFolder();
  const folder = temp.path;
  const layout = { stateDir: join(folder, "state"), logDir: join(folder, "log") };
  const run = runOf(appWith(), { id: "run-unsigned", createdAt: start - 60_000, main: undefined });
  await mkdir(marksFolder(layout), { recursive: true });
  await writeFile(`${markPath(layout, run.id)}.claim`, "");
  const deps = { layout, bootId: run.bootId, confinement: markers };
  const lives = async (waitedMs?: number) =>
    (await observeRun("default_web", run, { ...deps, waitedMs })).launcherAlive;
  assert.deepEqual([await lives(0), await lives(9999), await lives(10_000)], [true, true, false]);
  assert.equal(await lives(), false, "nobody waits for it any more");
});

test("the processes of a run that is starting are listed only once its mark counts as lost; those of one that has started always", async () => {
  using temp = tempFolder();
  const layout = { stateDir: join(temp.path, "state"), logDir: join(temp.path, "log") };
  const run = runOf(appWith(), { id: "run-starting", main: undefined });
  await mkdir(marksFolder(layout), { recursive: true });
  await writeFile(`${markPath(layout, run.id)}.claim`, await readFile("/proc/self/stat", "utf8"));
  const confinement = { ...markers, processes: async () => [1] };
  const listed = async (startedAt: number | undefined, waitedMs: number) => {
    const deps = { layout, bootId: run.bootId, confinement, waitedMs };
    return (await observeRun("default_web", { ...run, startedAt }, deps)).processes;
  };
  assert.deepEqual([await listed(undefined, 9999), await listed(undefined, 10_000)], [[], [1]]);
  assert.deepEqual(await listed(start, 0), [1]);
});

test("when the script has ended, an exec process is not a process that it left behind", async () => {
  for (const status of [0, 1]) {
    await using seen = await endedRun({ exit: `exit ${status}\nsignal 0\n` });
    const probe = await seen.exec();
    assert.deepEqual(await seen.processes([probe]), []);
    assert.deepEqual(await seen.processes([probe, await seen.exec()]), []);
  }
});

test("what the script left behind is found among exec processes, the known survivor or the oldest first", async () => {
  await using seen = await endedRun();
  const [exec, daemon, other] = [await seen.exec(), await seen.own(), await seen.own()];
  const all = [other, exec, daemon];
  assert.deepEqual(await seen.processes(all), [Math.min(daemon, other)]);
  for (const survivor of [daemon, other]) {
    assert.deepEqual(await seen.processes(all, { survivor }), [survivor]);
  }
  assert.deepEqual(await seen.processes(all, { survivor: exec }), [Math.min(daemon, other)]);
});

test("only the marker of this run makes an exec process", async () => {
  await using seen = await endedRun();
  const environments: Record<string, string>[] = [{}, { [execMarker]: "run-of-another" }, {
    [`X${execMarker}`]: seen.run.id,
  }];
  for (const environment of environments) {
    const pid = await seen.process(environment);
    assert.deepEqual(await seen.processes([pid]), [pid], JSON.stringify(environment));
  }
});

test("a process that ends between the list and the check may have left a child: the list is made again", async () => {
  await using seen = await endedRun();
  const [exec, daemon] = [await seen.exec(), await seen.process({ PATH: "/" })];
  const lists = [[seen.main, exec], [ended, exec], [exec, daemon]];
  assert.deepEqual(await seen.processes(() => lists.shift() ?? []), [daemon]);
  assert.deepEqual(await seen.processes(() => lists.shift() ?? []), [], "there is nobody at all");
});

test("a list of exec processes only is not enough: a process found by its marker counts, too", async () => {
  await using seen = await endedRun();
  const [exec, daemon] = [await seen.exec(), await seen.own()];
  assert.deepEqual(await seen.processes([exec]), [daemon]);
});

test("while the script lives all processes are listed, and none is checked", async () => {
  const alive = await readFile("/proc/self/stat", "utf8");
  await using seen = await endedRun({ claim: alive, exit: "" });
  const exec = await seen.exec();
  assert.deepEqual(await seen.processes([seen.main, exec]), [seen.main, exec]);
  await using orphan = await endedRun({ exit: "" });
  const inside = await orphan.exec();
  assert.deepEqual(
    await orphan.processes([orphan.main, inside]),
    [orphan.main, inside],
    "its launcher is gone",
  );
  assert.deepEqual(await orphan.processes([inside]), [], "and now it is gone, too");
});

test("a run whose script lives is observed without a look at all processes of the machine", async () => {
  await using seen = await endedRun({ claim: await readFile("/proc/self/stat", "utf8"), exit: "" });
  let scans = 0;
  const scan = () => {
    scans++;
    return Promise.resolve(new ProcessTable([]));
  };
  assert.deepEqual(
    await seen.processes([seen.main], {}, createMarkerConfinement("no cgroups here", { scan })),
    [seen.main],
  );
  assert.equal(scans, 0);
});

test("a confinement learns that a script has left nothing behind", async () => {
  for (const [words, alone] of [["alone\n", true], ["", undefined]] as const) {
    await using seen = await endedRun({ exit: `exit 0\nsignal 0\n${words}` });
    const asked: unknown[] = [];
    await seen.processes((run) => {
      asked.push(run.alone);
      return [];
    });
    assert.deepEqual(asked, [alone]);
  }
});

/** A pid that no process has: pids end at 2^22. */
const ended = 2 ** 22 + 1;

/** The marks of a run whose launcher has ended, with processes to find in its cgroup; all end with the test. */
async function endedRun({ claim = statOf(ended), exit = "exit 0\nsignal 0\n" } = {}) {
  const temp = tempFolder();
  const folder = temp.path;
  const layout = { stateDir: join(folder, "state"), logDir: join(folder, "log") };
  const id = newRunId(start);
  const run = runOf(appWith(), { id, leaf: `/sys/fs/cgroup/test/default_web/${id}` });
  const main = ended + 1;
  await mkdir(marksFolder(layout), { recursive: true });
  for (const [kind, text] of Object.entries({ claim, exit, started: statOf(main) })) {
    await writeFile(`${markPath(layout, id)}.${kind}`, text);
  }
  const children: ReturnType<typeof spawn>[] = [];
  const process = async (env: Record<string, string>): Promise<number> => {
    const child = spawn("/bin/sleep", ["300"], { env, stdio: "ignore" });
    await once(child, "spawn");
    children.push(child);
    return child.pid!;
  };
  return {
    run,
    main,
    process,
    exec: () => process({ [runMarker]: id, [execMarker]: id }),
    own: () => process({ [runMarker]: id }),
    /** What is seen where the cgroup lists these. */
    async processes(
      listed: number[] | ((run: RunRef) => number[]),
      fields: Partial<Run> = {},
      held = markers,
    ): Promise<number[]> {
      const list = Array.isArray(listed) ? () => listed : listed;
      const confinement = { ...held, processes: async (run: RunRef) => list(run) };
      const deps = { layout, bootId: run.bootId, confinement };
      return (await observeRun("default_web", { ...run, ...fields }, deps)).processes;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGKILL");
      temp.remove();
    },
  };
}

function statOf(pid: number): string {
  return `${pid} (sh) S ${"1 ".repeat(48)}\n`;
}

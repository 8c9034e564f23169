import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import { builtLauncher } from "../harness/launcher.ts";
import { checkout, skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

/** One folder below the checkout, as the tools that it compiles the launcher with. */
const agent = join(checkout, "dist/crashing-agent.mjs");
const run = promisify(execFile);

test("an agent killed at any point of a start or a stop leaves at most one instance, and no leak", {
  skip: skipUnless("compilers"),
}, async (t) => {
  await Promise.all([builtLauncher(), bundleAgent()]);
  const moments = await crashAgents();
  t.diagnostic(`${moments} moments`);
  assert.ok(moments >= 15, "a start and a stop have more effects than that");
});

/** The folder of one test, with a script that writes its process id. */
async function createPlace() {
  const temp = tempFolder();
  const folder = temp.path;
  const script = join(folder, "app.sh");
  await writeFile(script, `#!/bin/sh\necho $$ >>${folder}/instances\nwhile :; do sleep 0.2; done\n`, {
    mode: 0o755,
  });
  return {
    folder,
    agent: (crashAt: number, work: "cycle" | "start") =>
      run(process.execPath, [agent, folder, script, String(crashAt), work]),
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
async function crashAgents(): Promise<number> {
  let [next, moments, isOver] = [1, 0, false];
  const crashOn = async () => {
    while (!isOver) {
      if (await diesAt(next++)) moments++;
      else isOver = true;
    }
  };
  await Promise.all([crashOn(), crashOn()]);
  return moments;
}

/** Crashes an agent at this moment and checks what the next ones make of it; returns whether it came that far. */
async function diesAt(moment: number): Promise<boolean> {
  await using place = await createPlace();
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

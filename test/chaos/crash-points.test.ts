import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const agent = fileURLToPath(new URL("./crashing-agent.ts", import.meta.url));
const run = promisify(execFile);

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
    async living(): Promise<string[]> {
      const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
      const lines = await Promise.all(
        pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
      );
      return pids.filter((_, index) => lines[index] === `/bin/sh\0${script}\0`);
    },
    /** All live processes that refer to the folder. */
    async leftovers(): Promise<string[]> {
      const state = await Promise.all(
        ["apps", "runs", "marks"].map((name) => readdir(join(folder, "state", name))),
      );
      return [...state.flat(), ...await this.living()];
    },
    [Symbol.dispose]: temp.remove,
  };
}

test("an agent killed at any point of a start or a stop leaves at most one instance, and no leak", async (t) => {
  let crashAt = 0;
  for (let died = true; died;) {
    await using place = await createPlace();
    crashAt++;
    died = await place.agent(crashAt, "cycle").then(
      () => false,
      (error) => error.signal === "SIGKILL" || Promise.reject(error),
    );
    await place.agent(0, "start");
    await waitFor(
      `one instance after a crash at moment ${crashAt}`,
      async () => (await place.living()).length === 1,
      10_000,
    );
    await place.agent(0, "cycle");
    assert.deepEqual(await place.leftovers(), [], `moment ${crashAt}`);
  }
  t.diagnostic(`${crashAt - 1} moments`);
  assert.ok(crashAt > 15, "a start and a stop have more effects than that");
});

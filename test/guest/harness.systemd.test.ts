import assert from "node:assert/strict";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { skipUnless } from "../harness/parts.ts";
import { processesNaming } from "../harness/processes.ts";
import { createMachine } from "../harness/systemd-guest.ts";
import { tempFolder } from "../temp-folder.ts";

test("a machine with systemd keeps its disk across boots and leaves nothing behind", {
  skip: skipUnless("systemd-guest"),
}, async (t) => {
  const temp = tempFolder(t).path;
  process.env.TMPDIR = temp;
  const machine = await createMachine();
  t.after(() => machine.remove());

  await t.test("the script runs once systemd is up, with the given files", async () => {
    const file = join(temp, "file");
    await writeFile(file, "from the host\n", { mode: 0o750 });
    const script = `systemctl is-system-running --wait; cat /opt/app/file; stat -c %a /opt/app/file
      date >/var/lib/stamp; echo "$WORD" >/var/lib/word; exit 7`;
    const result = await machine.boot(script, {
      files: { "/opt/app/file": file },
      env: { WORD: "it's kept" },
    });
    await rm(file);
    assert.deepEqual(result, { code: 7, output: "running\nfrom the host\n750\n", timedOut: false });
  });

  await t.test("the next boot finds what the last one wrote, and cgroup v2 under systemd", async () => {
    const { code, output } = await machine.boot("cat /var/lib/word /proc/self/cgroup", { halt: "sudden" });
    assert.deepEqual({ code, output }, { code: 0, output: "it's kept\n0::/system.slice/test-job.service\n" });
  });

  await t.test("a machine that does not shut down loses power at its time limit", async () => {
    const { code, timedOut } = await machine.boot("sleep 600", { timeoutMs: 5000 });
    assert.deepEqual({ code, timedOut }, { code: 124, timedOut: true });
  });

  machine.remove();
  assert.deepEqual(await processesNaming(temp), []);
  assert.deepEqual(await readdir(temp), []);
});

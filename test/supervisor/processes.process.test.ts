import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { readVariables } from "../../src/supervisor/processes.ts";
import { skipUnless } from "../harness/parts.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

/** A process that lives until the end of the block. */
function startProcess(file: string, args: string[], env: Record<string, string>) {
  const child = spawn(file, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  return { pid: child.pid!, stdout: child.stdout, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

test("variables are found wherever they are in an environment, and only those", async () => {
  // Each of them is once at, and once around, the border of what is read at a time.
  for (const before of [0, 10, 65_500, 65_520, 65_530, 65_536, 131_060]) {
    const filling = Object.fromEntries(
      Array.from({ length: 2 }, (_, index) => [`FILL_${index}`, "x".repeat(Math.ceil(before / 2))]),
    );
    const env = { ...filling, NCAPP_RUN: "mb0xk2-0123456789", XNCAPP_NAME: "no", NCAPP_NAME: "web" };
    using one = startProcess("/bin/sleep", ["600"], env);
    const found = await waitFor("its environment", async () => {
      const variables = await readVariables(one.pid, ["NCAPP_RUN", "NCAPP_NAME", "NCAPP_NAMESPACE"]);
      return variables?.values.NCAPP_RUN ? variables : undefined;
    });
    assert.deepEqual(
      found,
      { values: { NCAPP_RUN: "mb0xk2-0123456789", NCAPP_NAME: "web" }, isEmpty: false },
      `behind ${before} bytes`,
    );
  }
});

test("a process that is gone has no environment, and one without variables has an empty one", async () => {
  assert.equal(await readVariables(2 ** 30, ["A"]), undefined);
  using bare = startProcess("/usr/bin/env", ["-i", "/bin/sleep", "600"], {});
  await waitFor("it is empty", async () => (await readVariables(bare.pid, ["A"]))?.isEmpty === true);
});

/** Makes a gigabyte of its memory its environment, as any user can; the rest of the map stays as it is. */
const program = `#include <linux/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
  unsigned long size = 1UL << 30, field[60] = {0};
  char text[4096] = "", *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!fread(text, 1, sizeof text - 1, fopen("/proc/self/stat", "r"))) return 1;
  char *next = strrchr(text, ')') + 3;
  for (int number = 4; number < 52; number++) field[number] = strtoul(next, &next, 10);
  struct prctl_mm_map map = {
    .start_code = field[26], .end_code = field[27], .start_stack = field[28], .start_data = field[45], .end_data = field[46],
    .start_brk = field[47], .brk = (unsigned long)sbrk(0), .arg_start = field[48], .arg_end = field[49],
    .env_start = (unsigned long)at, .env_end = (unsigned long)at + size - 4096, .exe_fd = (unsigned)-1,
  };
  puts(prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) ? "refused" : "done");
  fflush(stdout);
  pause();
}
`;

test("a process that shows a gigabyte as its environment takes no memory of the agent", {
  skip: skipUnless("compilers"),
}, async (t) => {
  using temp = tempFolder();
  await writeFile(join(temp.path, "bomb.c"), program);
  execFileSync("cc", ["-o", join(temp.path, "bomb"), join(temp.path, "bomb.c")]);
  using bomb = startProcess(join(temp.path, "bomb"), [], { A: "1" });
  const [line] = await once(bomb.stdout!, "data");
  if (String(line) !== "done\n") return t.skip("this kernel lets no process move its environment");
  const before = process.memoryUsage().rss;
  assert.deepEqual(await readVariables(bomb.pid, ["A"]), { values: {}, isEmpty: false });
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 200 * 2 ** 20, `${grown >> 20} MB more`);
});

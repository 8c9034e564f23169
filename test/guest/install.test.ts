import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, copyFile, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { assembleRelease } from "../../tools/release/assemble.ts";
import { checkout, skipUnless } from "../harness/parts.ts";
import { createMachine } from "../harness/systemd-guest.ts";

/** Runs a file of inside/ on the checkout's Node, which finds the library that the machine lacks; the machine itself does not. */
const inside = (file: string) => `
  mkdir -p '${checkout}' && mount -r -t hostfs -o '${checkout}' checkout '${checkout}' && cd '${checkout}' || exit 1
  LD_LIBRARY_PATH=/share exec node_modules/.bin/node --test --test-isolation=none test/guest/inside/${file}`;

test("a bare Debian is installed on, upgraded, rolled back, rebooted and left as it was", {
  skip: skipUnless("systemd-guest"),
}, async (t) => {
  const share = await mkdtemp(join(tmpdir(), "nckubelet-install-"));
  t.after(() => rm(share, { recursive: true, force: true }));
  await fillShare(share);
  const machine = await createMachine();
  t.after(() => machine.remove());

  for (const file of ["install.ts", "install-after-reboot.ts"]) {
    const { code, output } = await machine.boot(inside(file), { share, timeoutMs: 400_000 });
    assert.equal(code, 0, output);
    for (const [line] of output.matchAll(/^✔ .*$/gm)) t.diagnostic(line);
  }
});

/** Two releases, a web server for them, and the library that Node needs and a minimal Debian lacks. */
async function fillShare(share: string): Promise<void> {
  const executable = join(checkout, "dist/nckubelet");
  if (!existsSync(executable)) execFileSync(process.execPath, ["tools/build.ts"], { cwd: checkout });
  // Bytes after its end make no difference to an executable, but to its digest.
  const next = join(share, "next");
  await copyFile(executable, next);
  await appendFile(next, "\n");
  await assembleRelease({ executables: { amd64: executable }, output: join(share, "release-1"), level: 1 });
  await assembleRelease({ executables: { amd64: next }, output: join(share, "release-2"), level: 1 });
  await rm(next);
  const found = (words: string) => execFileSync("sh", ["-c", words], { encoding: "utf8" }).trim();
  await copyFile(await realpath(found("command -v busybox")), join(share, "busybox"));
  const libatomic = found("/sbin/ldconfig -p | sed -n 's/.*libatomic[.]so[.]1 .*=> //p' | head -n 1");
  await copyFile(await realpath(libatomic), join(share, "libatomic.so.1"));
}

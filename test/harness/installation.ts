/**
 * A machine to install on: releases of the built executable in its share, and a web server to serve them there.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFile, copyFile, mkdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { assembleRelease } from "../../tools/release/assemble.ts";
import { compileCache } from "../../tools/test/program.ts";
import { tempFolder } from "../temp-folder.ts";
import { builtExecutable } from "./built-executable.ts";
import { replayReport, reporterFlags } from "./guest-report.ts";
import { type InitSystem, skipUnless } from "./parts.ts";
import { mountCheckout } from "./systemd-guest-tests.ts";
import { createMachine } from "./systemd-guest.ts";

/** Registers a test that boots one machine once for each of the files in test/guest/inside and runs the file there. */
export function testInstallation(name: string, init: InitSystem, files: string[]): void {
  test(name, { skip: skipUnless("systemd-guest") }, async (t) => {
    const share = tempFolder(t).path;
    await fillShare(share);
    await mkdir(compileCache, { recursive: true });
    const machine = await createMachine({ init });
    t.after(() => machine.remove());

    for (const file of files) {
      const halt = file === files.at(-1) ? "sudden" : "orderly";
      const result = await machine.boot(inside(file, init), { share, halt, timeoutMs: 900_000 });
      await replayReport(t, share, result);
      assert.equal(result.code, 0, "the next boot needs what this one left");
    }
  });
}

/** Runs a file on the checkout's Node, which alone finds the library that the machine lacks. */
function inside(file: string, init: InitSystem): string {
  // Only one of the machines tests the message about the missing library.
  const library = init === "systemd" ? "" : "cp /share/libatomic.so.1 /usr/lib/x86_64-linux-gnu/";
  return `
    ${library}
    ${mountCheckout} || exit 1
    LD_LIBRARY_PATH=/share exec node_modules/.bin/node --test --test-isolation=none ${reporterFlags} test/guest/inside/${file}`;
}

/** Two releases, a web server for them, and the library that Node needs and a minimal Debian lacks. */
async function fillShare(share: string): Promise<void> {
  const executable = builtExecutable();
  // Bytes after the end of an executable change only its digest.
  const next = join(share, "next");
  await copyFile(executable, next);
  await appendFile(next, "\n");
  await Promise.all([
    assembleRelease({
      executables: { amd64: executable },
      output: join(share, "release-1"),
      sourceDate: 1,
      level: 1,
    }),
    assembleRelease({
      executables: { amd64: next },
      output: join(share, "release-2"),
      sourceDate: 2,
      level: 1,
    }),
  ]);
  await rm(next);
  const found = (words: string) => execFileSync("sh", ["-c", words], { encoding: "utf8" }).trim();
  await copyFile(await realpath(found("command -v busybox")), join(share, "busybox"));
  const libatomic = found("/sbin/ldconfig -p | sed -n 's/.*libatomic[.]so[.]1 .*=> //p' | head -n 1");
  await copyFile(await realpath(libatomic), join(share, "libatomic.so.1"));
}

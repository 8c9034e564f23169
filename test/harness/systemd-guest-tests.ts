/**
 * Runs test files of the checkout on one Debian machine with systemd, as one test of this process with a subtest per result. The program is
 * at /share/nckubelet.
 */
import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { test } from "node:test";
import { compileCache } from "../../tools/test/program.ts";
import { tempFolder } from "../temp-folder.ts";
import { putGuestProgram } from "./guest-program.ts";
import { replayReport, reporterFlags } from "./guest-report.ts";
import { checkout, skipUnless } from "./parts.ts";
import { inSystemdGuest } from "./systemd-guest.ts";

/** Shell that enters the checkout, read-only but for the compile cache of all guests. */
export const mountCheckout = [
  `mkdir -p '${checkout}'`,
  `mount -r -t hostfs -o '${checkout}' checkout '${checkout}'`,
  `mount -t hostfs -o '${compileCache}' cache '${compileCache}'`,
  `export NODE_COMPILE_CACHE='${compileCache}'`,
  `cd '${checkout}'`,
].join(" && ");

/** Registers a test called `name` that runs the files (paths from the checkout) one after the other as root on a new machine. */
export function runTestsInSystemdGuest(name: string, files: string[], { timeoutMs = 600_000 } = {}): void {
  const script = `
    ${mountCheckout} && ldconfig || exit 1
    exec node_modules/.bin/node --test --test-isolation=none ${reporterFlags} ${
    files.map((file) => `'${file}'`).join(" ")
  }`;
  test(name, { skip: skipUnless("systemd-guest") }, async (t) => {
    const share = tempFolder(t).path;
    await putGuestProgram(share);
    await mkdir(compileCache, { recursive: true });
    const result = await inSystemdGuest(script, { files: nodeLibraries(), share, timeoutMs });
    await replayReport(t, share, result);
  });
}

/** Node is linked against libatomic, which a minimal Debian lacks. */
function nodeLibraries(): Record<string, string> {
  const known = execFileSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  const libatomic = /libatomic\.so\.1 .*=> (.*)/.exec(known)?.[1];
  return libatomic ? { "/usr/local/lib/libatomic.so.1": libatomic } : {};
}

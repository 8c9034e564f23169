/**
 * Runs test files of the checkout on one Debian machine with systemd, as one test of this process; the tests inside are
 * reported as diagnostics. The program is at /share/nckubelet.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { tempFolder } from "../temp-folder.ts";
import { putGuestProgram } from "./guest-program.ts";
import { checkout, skipUnless } from "./parts.ts";
import { inSystemdGuest } from "./systemd-guest.ts";

/** Registers a test called `name` that runs the files (paths from the checkout) one after the other as root on a new machine. */
export function runTestsInSystemdGuest(name: string, files: string[], { timeoutMs = 600_000 } = {}): void {
  const script = `
    set -e
    mkdir -p '${checkout}'
    mount -r -t hostfs -o '${checkout}' checkout '${checkout}'
    cd '${checkout}'
    ldconfig
    exec node_modules/.bin/node --test --test-isolation=none ${files.map((file) => `'${file}'`).join(" ")}`;
  test(name, { skip: skipUnless("systemd-guest") }, async (t) => {
    const share = tempFolder(t).path;
    await putGuestProgram(share);
    const env = { NODE_COMPILE_CACHE: "/var/tmp/nckubelet-compile-cache" };
    const { code, output } = await inSystemdGuest(script, { files: nodeLibraries(), share, env, timeoutMs });
    assert.equal(code, 0, output);
    for (const [line] of output.matchAll(/^✔ .*$/gm)) t.diagnostic(line);
  });
}

/** Node is linked against libatomic, which a minimal Debian lacks. */
function nodeLibraries(): Record<string, string> {
  const known = execFileSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  const libatomic = /libatomic\.so\.1 .*=> (.*)/.exec(known)?.[1];
  return libatomic ? { "/usr/local/lib/libatomic.so.1": libatomic } : {};
}

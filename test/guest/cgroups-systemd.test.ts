import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { checkout, skipUnless } from "../harness/parts.ts";
import { inSystemdGuest } from "../harness/systemd-guest.ts";

const SCRIPT = `
  set -e
  mkdir -p '${checkout}'
  mount -r -t hostfs -o '${checkout}' checkout '${checkout}'
  cd '${checkout}'
  ldconfig
  exec node_modules/.bin/node --test --test-isolation=none test/guest/inside/cgroups-systemd.ts`;

test("under real systemd apps live in a scope of their own, whatever happens to the agent", {
  skip: skipUnless("systemd-guest"),
}, async (t) => {
  const { code, output } = await inSystemdGuest(SCRIPT, { files: nodeLibraries(), timeoutMs: 600_000 });
  assert.equal(code, 0, output);
  for (const [line] of output.matchAll(/^✔ .*$/gm)) t.diagnostic(line);
});

/** Node is linked against libatomic, which a minimal Debian lacks. */
function nodeLibraries(): Record<string, string> {
  const known = execFileSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  const libatomic = /libatomic\.so\.1 .*=> (.*)/.exec(known)?.[1];
  return libatomic ? { "/usr/local/lib/libatomic.so.1": libatomic } : {};
}

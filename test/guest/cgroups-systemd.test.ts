import assert from "node:assert/strict";
import { test } from "node:test";
import { checkout, skipUnless } from "../harness/parts.ts";
import { inSystemdGuest } from "../harness/systemd-guest.ts";

const SCRIPT = `
  mkdir -p '${checkout}' && mount -r -t hostfs -o '${checkout}' checkout '${checkout}' && cd '${checkout}' || exit 1
  exec node_modules/.bin/node --test --test-isolation=none test/guest/inside/cgroups-systemd.ts`;

test("under real systemd apps live in a scope of their own, whatever happens to the agent", {
  skip: skipUnless("systemd-guest"),
}, async (t) => {
  const { code, output } = await inSystemdGuest(SCRIPT, { timeoutMs: 300_000 });
  assert.equal(code, 0, output);
  for (const [line] of output.matchAll(/^✔ .*$/gm)) t.diagnostic(line);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkout, skipUnless } from "../harness/parts.ts";
import { inSystemdGuest } from "../harness/systemd-guest.ts";

const script = `
  mkdir -p '${checkout}' && mount -r -t hostfs -o '${checkout}' checkout '${checkout}' && cd '${checkout}' || exit 1
  exec node_modules/.bin/node --test --test-isolation=none test/guest/inside/agent-systemd.ts`;

test(
  "under real systemd apps do not notice what happens to the agent",
  { skip: skipUnless("systemd-guest") },
  async () => {
    const { code, output } = await inSystemdGuest(script, { timeoutMs: 400_000 });
    assert.equal(code, 0, output);
  },
);

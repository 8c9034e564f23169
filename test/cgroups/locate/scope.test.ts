import assert from "node:assert/strict";
import { test } from "node:test";
import { ensureScope } from "../../../cgroups/locate/scope.ts";

const ACTIVE = {
  ActiveState: "active",
  Delegate: "yes",
  ControlGroup: "/nckubelet.slice/nckubelet-apps.scope",
};
const INACTIVE = { ActiveState: "inactive", Delegate: "no", ControlGroup: "" };
const pause = () => Promise.resolve();

/** A systemd whose scope goes through `states` and stays in the last. */
function systemd(...states: Record<string, string>[]) {
  const calls = { shows: 0, starts: 0 };
  return {
    calls,
    showScope: () => Promise.resolve(states[Math.min(calls.shows++, states.length - 1)]!),
    startScope: () => {
      calls.starts++;
      return Promise.resolve();
    },
    pause,
  };
}

test("ensureScope() adopts a running scope and starts nothing", async () => {
  const fake = systemd(ACTIVE);
  assert.deepEqual(await ensureScope(fake), { ok: true, controlGroup: ACTIVE.ControlGroup });
  assert.equal(fake.calls.starts, 0);
});

test("ensureScope() starts a missing scope", async () => {
  const fake = systemd(INACTIVE, ACTIVE);
  assert.ok((await ensureScope(fake)).ok);
  assert.equal(fake.calls.starts, 1);
});

test("ensureScope() waits for the end of a stop, then starts the scope again", async () => {
  const fake = systemd(
    { ...ACTIVE, ActiveState: "deactivating" },
    { ...ACTIVE, ActiveState: "deactivating" },
    INACTIVE,
    ACTIVE,
  );
  assert.ok((await ensureScope(fake)).ok);
  assert.deepEqual(fake.calls, { shows: 4, starts: 1 });
});

test("ensureScope() adopts the scope of an agent that was faster", async () => {
  const fake = systemd(INACTIVE, ACTIVE);
  const startScope = () => Promise.reject(new Error("Unit nckubelet-apps.scope was already loaded"));
  assert.ok((await ensureScope({ ...fake, startScope })).ok);
});

test("ensureScope() fails with the message of systemd", async () => {
  const startScope = () => Promise.reject(new Error("Access denied"));
  assert.deepEqual(await ensureScope({ ...systemd(INACTIVE), startScope }), {
    ok: false,
    reason: "systemd-failed",
    message: "cannot start nckubelet-apps.scope: Access denied",
  });
  const showScope = () => Promise.reject(new Error("spawn systemctl ENOENT"));
  const failure = await ensureScope({ ...systemd(INACTIVE), showScope });
  assert.equal(!failure.ok && failure.message, "cannot start nckubelet-apps.scope: spawn systemctl ENOENT");
});

test("ensureScope() fails for a scope that does not stop", async () => {
  const failure = await ensureScope(systemd({ ...ACTIVE, ActiveState: "deactivating" }));
  assert.equal(!failure.ok && failure.message, "cannot start nckubelet-apps.scope: it is deactivating");
});

test("ensureScope() refuses a scope without delegation", async () => {
  const failure = await ensureScope(systemd({ ...ACTIVE, Delegate: "no" }));
  assert.equal(!failure.ok && failure.reason, "not-delegated");
});

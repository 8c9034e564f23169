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

/** A systemd whose scope is in each of `states` in turn, staying at the last. */
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

test("ensureScope() starts the scope where there is none", async () => {
  const fake = systemd(INACTIVE, ACTIVE);
  assert.ok((await ensureScope(fake)).ok);
  assert.equal(fake.calls.starts, 1);
});

test("ensureScope() waits for a stop that is under way, then starts anew", async () => {
  const fake = systemd(
    { ...ACTIVE, ActiveState: "deactivating" },
    { ...ACTIVE, ActiveState: "deactivating" },
    INACTIVE,
    ACTIVE,
  );
  assert.ok((await ensureScope(fake)).ok);
  assert.deepEqual(fake.calls, { shows: 4, starts: 1 });
});

test("ensureScope() adopts the scope of an agent that was a moment faster", async () => {
  const fake = systemd(INACTIVE, ACTIVE);
  const startScope = () => Promise.reject(new Error("Unit nckubelet-apps.scope was already loaded"));
  assert.ok((await ensureScope({ ...fake, startScope })).ok);
});

test("ensureScope() fails with systemd's own words", async () => {
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

test("ensureScope() gives up on a scope that does not end its stop", async () => {
  const failure = await ensureScope(systemd({ ...ACTIVE, ActiveState: "deactivating" }));
  assert.equal(!failure.ok && failure.message, "cannot start nckubelet-apps.scope: it is deactivating");
});

test("ensureScope() does not take a scope that was not delegated", async () => {
  const failure = await ensureScope(systemd({ ...ACTIVE, Delegate: "no" }));
  assert.equal(!failure.ok && failure.reason, "not-delegated");
});

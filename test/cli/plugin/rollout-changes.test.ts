import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, setAnnotations } from "../../../src/api/names.ts";
import {
  pauseRollout,
  promoteCanary,
  restartApps,
  resumeRollout,
} from "../../../src/cli/plugin/rollout-changes.ts";
import { appSet, condition, type SetChanges } from "./set-scene.ts";

test("pause and resume change only spec.paused, and refuse what is so already", () => {
  const paused = appSet({ spec: { paused: true } });
  assert.deepEqual(pauseRollout(appSet()).body, { spec: { paused: true } });
  assert.deepEqual(resumeRollout(paused).body, { spec: { paused: false } });
  assert.throws(
    () => pauseRollout(paused),
    /set shop\/web is paused already; '.* rollout resume shop\/web' continues/,
  );
  assert.throws(() => resumeRollout(appSet()), /set shop\/web is not paused/);
});

test("restart changes the template, so that the apps restart within the budget", () => {
  const { body } = restartApps(appSet(), Date.UTC(2026, 10, 17));
  const time = "2026-11-17T00:00:00.000Z";
  assert.deepEqual(body, {
    spec: { template: { metadata: { annotations: { [annotations.restartedAt]: time } } } },
  });
  assert.throws(
    () => restartApps(appSet({ spec: { paused: true } }), 0),
    /is paused, so nothing would restart/,
  );
});

const canary: SetChanges = { spec: { update: { canary: { count: 1 } } } };

test("promote names the revision that may go on", () => {
  assert.deepEqual(promoteCanary(appSet(canary)).body, {
    metadata: { annotations: { [setAnnotations.promote]: "web-new" } },
  });
});

for (
  const [changes, why] of [
    [{}, /it has no spec\.update\.canary/],
    [{ ...canary, status: { observedGeneration: 1 } }, /has not seen its last change yet/],
    [{ ...canary, status: { stableRevision: "web-new" } }, /all apps have web-new already/],
    [
      { ...canary, metadata: { annotations: { [setAnnotations.promote]: "web-new" } } },
      /was promoted already/,
    ],
    [
      { ...canary, status: { conditions: [condition("Stalled", "True", "FailedApps", "1 app has failed")] } },
      /1 app has failed; to go back: 'kubectl ncapp rollout undo shop\/web'/,
    ],
  ] as [SetChanges, RegExp][]
) {
  test(`promote refuses: ${why.source}`, () => {
    assert.throws(() => promoteCanary(appSet(changes)), ({ message }: Error) => {
      assert.match(message, why);
      return message.startsWith("set shop/web cannot be promoted: ");
    });
  });
}

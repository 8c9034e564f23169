import assert from "node:assert/strict";
import { test } from "node:test";
import { failingApps, progressBar, rolloutProgress } from "../../../src/cli/plugin/rollout-progress.ts";
import { appOf, appSet, condition, type SetChanges } from "./set-scene.ts";

const conditions = (...list: ReturnType<typeof condition>[]): SetChanges => ({
  status: { conditions: list },
});

/** All three apps are updated, and one has failed. */
const failing = (status: SetChanges["status"], maxFailed: number): SetChanges => ({
  spec: { update: { maxFailed } },
  status: {
    updated: 3,
    failed: 1,
    ...status,
    conditions: [condition("Progressing", "True", "RolloutInProgress", "3 of 3 apps have web-new")],
  },
});

for (
  const [name, changes, state, message] of [
    [
      "a change that the controller has not seen",
      {
        status: { observedGeneration: 1, conditions: [condition("Progressing", "True", "RolloutComplete")] },
      },
      "progressing",
      "waiting for the controller to see the change; if this takes long, check that one runs " +
      "('nckubelet controller', or 'nckubelet agent --with-controller')",
    ],
    ["a set without a status", { status: { observedGeneration: undefined } }, "progressing", "waiting for"],
    [
      "a rollout under way",
      conditions(condition("Progressing", "True", "RolloutInProgress", "1 of 3 apps have web-new")),
      "progressing",
      "1 of 3 apps have web-new",
    ],
    [
      "a condition without a message",
      conditions(condition("Progressing", "True", "RolloutInProgress")),
      "progressing",
      "1 of 3 apps are updated, 2 are available",
    ],
    [
      "a complete rollout",
      conditions(condition("Progressing", "True", "RolloutComplete", "all")),
      "complete",
      "all",
    ],
    [
      "a partition that is reached, but not available yet",
      conditions(condition("Progressing", "True", "PartitionReached", "2 keep")),
      "progressing",
      "2 keep",
    ],
    [
      "a partition that is reached",
      {
        status: {
          available: 3,
          conditions: [condition("Progressing", "True", "PartitionReached", "2 keep")],
        },
      },
      "complete",
      "2 keep",
    ],
    [
      "failures that are tolerated, after the end",
      failing({ available: 2, stableRevision: "web-new" }, 2),
      "complete",
      "2 of 3 apps are available, 1 failed, which maxFailed tolerates",
    ],
    [
      "more failures than are tolerated, after the end",
      failing({ available: 2, stableRevision: "web-new" }, 1),
      "progressing",
      "3 of 3 apps have web-new",
    ],
    [
      "tolerated failures while other apps of a stable revision start",
      failing({ available: 1, stableRevision: "web-new" }, 2),
      "progressing",
      "3 of 3 apps have web-new",
    ],
    [
      "failures that are tolerated, before the end",
      failing({ available: 2 }, 2),
      "progressing",
      "3 of 3 apps have web-new",
    ],
    [
      "a canary that waits",
      conditions(condition("Progressing", "False", "WaitingForPromotion", "the canary is available")),
      "waiting",
      "the canary is available",
    ],
    [
      "a rollout that was stopped",
      conditions(
        condition("Progressing", "False", "Stalled", "s"),
        condition("Stalled", "True", "FailedApps", "1 app\nfailed"),
      ),
      "stalled",
      "1 app failed",
    ],
    [
      "a rollout that went back",
      conditions(
        condition("Progressing", "False", "RolledBack", "all apps are back"),
        condition("Stalled", "True", "RolledBack", "1 app has failed"),
      ),
      "stalled",
      "1 app has failed",
    ],
  ] as [string, SetChanges, string, string][]
) {
  test(`${name} is ${state}`, () => {
    const progress = rolloutProgress(appSet(changes));
    assert.equal(progress.state, state);
    assert.ok(progress.message.startsWith(message), progress.message);
  });
}

test("the bar shows what is available, what is updated and what is left", () => {
  const bar = (updated: number, available: number, desired: number) =>
    progressBar({ state: "progressing", message: "", updated, available, desired, failed: 0 }, 10);
  assert.equal(bar(0, 5, 5), "░░░░░░░░░░");
  assert.equal(bar(3, 2, 5), "████▒▒░░░░");
  assert.equal(bar(5, 5, 5), "██████████");
  assert.equal(bar(0, 0, 0), "██████████");
  // More than there should be, while a set shrinks.
  assert.equal(bar(9, 9, 5), "██████████");
});

test("failing apps are those of the new revision, with node and reason on one line", () => {
  const apps = [
    appOf("a", "new", { phase: "BackOff", reason: "Error", message: "exit 1\nfake: line" }),
    appOf("b", "new", { phase: "Running", ready: true }),
    appOf("c", "old", { phase: "Failed", reason: "Failed" }),
    appOf("d", "new", { phase: "Pending", reason: "NoSuchUser", message: "no user app" }),
    appOf("e", "new", { phase: "Starting" }),
  ];
  assert.deepEqual(failingApps(appSet(), apps), [
    "shop/web-a on a: BackOff: Error: exit 1 fake: line",
    "shop/web-d on d: Pending: NoSuchUser: no user app",
  ]);
});

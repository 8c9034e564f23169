import assert from "node:assert/strict";
import { test } from "node:test";
import { EmptyWatch } from "../../../src/supervisor/runner/empty-watch.ts";
import type { AppRecord, RunView } from "../../../src/supervisor/types.ts";
import { appWith, recordWith, runOf, start, viewWith } from "../fixtures.ts";

const app = appWith();
const running = recordWith({ app, phase: "Running", run: runOf(app) });

/** Whether a run that looks like this is watched. */
function isWatched(view: Partial<RunView>, record: AppRecord = running): boolean {
  let open = 0;
  const watch = new EmptyWatch(() => {
    open++;
    return () => open--;
  });
  watch.update(record, viewWith(view));
  return open === 1;
}

test("a run is watched if no launcher would report its end", () => {
  assert.equal(isWatched({}), false);
  assert.equal(isWatched({ exit: { code: 0, at: start }, launcherAlive: false }), true, "it daemonized");
  assert.equal(isWatched({ launcherAlive: false, processes: [101] }), true, "its launcher was killed");
  assert.equal(isWatched({}, { ...running, phase: "Stopping" }), true, "it is being stopped");
  assert.equal(isWatched({ launcherAlive: false, processes: [] }), false, "it is over");
});

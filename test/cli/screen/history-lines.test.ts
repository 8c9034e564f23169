import assert from "node:assert/strict";
import { test } from "node:test";
import { historyLines } from "../../../src/cli/screen/screen.ts";
import type { HistoryEntry } from "../../../src/server/view.ts";

const at = (time: string) => Date.parse(`2026-11-18T${time}Z`);

test("the end of a run is told with what preceded it and its last output", () => {
  const entries: HistoryEntry[] = [
    { time: at("03:00:00"), reason: "Edited", message: "The spec was changed: args (by kubectl-edit)" },
    { time: at("03:00:02"), reason: "Started", message: "Started /srv/web.sh as process 7" },
    { time: at("03:05:00"), usage: { cpuPCT: 20, memPCT: 4, throttledPCT: 43 } },
    {
      time: at("03:09:30"),
      since: at("03:09:10"),
      count: 3,
      reason: "Unhealthy",
      message: "Liveness probe failed",
    },
    { time: at("03:10:00"), usage: { cpuPCT: 20, memPCT: 9.5, throttledPCT: 12 } },
    {
      time: at("03:10:05"),
      reason: "Exited",
      message: "Ended with status 143 (SIGTERM): ProbeFailed",
      exit: {
        startedAt: "2026-11-18T03:00:02Z",
        finishedAt: "2026-11-18T03:10:05Z",
        message: "probe failed\n\u001b[31mout of connections",
      },
    },
  ];
  assert.deepEqual(historyLines(entries), [
    "2026-11-18T03:00:00Z   Edited      The spec was changed: args (by kubectl-edit)",
    "2026-11-18T03:00:02Z   Started     Started /srv/web.sh as process 7",
    "2026-11-18T03:09:30Z   Unhealthy   Liveness probe failed (x3 since 2026-11-18T03:09:10Z)",
    "2026-11-18T03:10:05Z   Exited      Ended with status 143 (SIGTERM): ProbeFailed, after 10m",
    "    before: 3 failed probes, CPU throttled 43% of the time, memory 9.5% of the node, the spec was changed 10m earlier",
    "    | probe failed",
    "    | \ufffd[31mout of connections",
  ]);
});

test("what happened to an earlier run, or long before the end, did not precede it", () => {
  const exit = { startedAt: "2026-11-18T05:00:00Z", finishedAt: "2026-11-18T06:00:00Z" };
  const lines = historyLines([
    { time: at("04:00:00"), reason: "Edited", message: "The spec was changed: args" },
    { time: at("04:59:00"), reason: "Unhealthy", message: "Liveness probe failed" },
    { time: at("05:01:00"), reason: "Unhealthy", message: "Liveness probe failed" },
    { time: at("06:00:00"), reason: "Completed", message: "Ended with status 0: Completed", exit },
  ]);
  assert.equal(lines.length, 4);
});

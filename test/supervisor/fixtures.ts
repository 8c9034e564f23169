/** Apps and records for the tests of the supervisor. */
import { applyDefaults } from "../../src/api/validate/validate.ts";
import type { NCApp, NCAppSpec } from "../../src/api/types.ts";
import type { AppRecord, KillCounts, Run, RunnableApp, RunView } from "../../src/supervisor/types.ts";
import { revisionOf, runHash } from "../../src/supervisor/decide/decide.ts";
import { ncapp } from "../builders.ts";

export const start = 1_800_000_000_000;

export function appWith(spec: NCAppSpec = {}, metadata?: Partial<NCApp["metadata"]>): RunnableApp {
  return {
    ...ncapp({ metadata: { uid: "uid-1", annotations: {}, ...metadata } }),
    spec: applyDefaults({ shellFile: "/opt/web.sh", ...spec }),
  };
}

/** The record of an app whose version is good, so that nothing is on trial. */
export function recordWith(fields: Partial<AppRecord> = {}): AppRecord {
  const app = fields.app ?? appWith();
  return {
    app,
    source: "test",
    phase: "Pending",
    reason: "",
    message: "",
    restarts: 0,
    failures: 0,
    oomKills: 0,
    good: { revision: revisionOf(app), spec: app.spec, at: start },
    ...fields,
  };
}

export function runOf(app: RunnableApp, fields: Partial<Run> = {}): Run {
  return {
    id: "run-1",
    bootId: "boot-1",
    hash: runHash(app),
    createdAt: start,
    leaf: "",
    startedAt: start,
    main: { pid: 100, startTime: "7" },
    ...fields,
  };
}

export function viewWith(fields: Partial<RunView> = {}): RunView {
  return {
    claim: "launcher",
    launcherAlive: true,
    rebooted: false,
    started: { at: start, main: { pid: 100, startTime: "7" } },
    processes: [100],
    ...fields,
  };
}

/** The kernel's counts after `kills` kills, each of one process that is a group of its own. */
export function killCounts(kills: number, cgroup = "app"): KillCounts {
  return { cgroup, processes: kills, groups: kills };
}

/**
 * What an agent finds when it starts: apps whose state file is lost but whose run goes on, and runs that nobody knows.
 */
import { readdir } from "node:fs/promises";
import type { Logger } from "../lib/log.ts";
import type { Confinement, RunRef } from "./confinement.ts";
import { type Layout, markPath, marksFolder, runFolder, type RunLayout, runsFolder } from "./layout.ts";
import { cancelRun, listMarkedRuns } from "./marks.ts";
import { readRunRecord } from "./record-store.ts";
import { listEnvironments } from "./run-environment.ts";
import { keyOf, runsOf } from "./runs.ts";
import type { AppRecord } from "./types.ts";

/**
 * The records, and those of apps that are known by their runs only: each run's folder holds the record as it was when the run
 * began.
 */
export async function recoverRecords(
  records: AppRecord[],
  { layout, log }: { layout: Layout; log: Logger },
): Promise<AppRecord[]> {
  const known = new Set(records.map(({ app }) => keyOf(app)));
  const recovered: AppRecord[] = [];
  for (const runId of await readdir(runsFolder(layout))) {
    const record = await readRunRecord(runFolder(layout, runId), log);
    if (!record || record.run?.id !== runId || known.has(keyOf(record.app))) continue;
    log.warn("took an app over from its run, since its state file was lost", {
      app: keyOf(record.app),
      run: runId,
    });
    known.add(keyOf(record.app));
    recovered.push(record);
  }
  return [...records, ...recovered];
}

/** Ends runs that no record knows: an agent died between the end of a run and its clean-up, or all that was known is lost. */
export async function removeLeftovers(
  records: AppRecord[],
  { layout, confinement, log, cleanUp }: {
    layout: RunLayout;
    confinement: Confinement;
    log: Logger;
    cleanUp: (run: RunRef) => Promise<void>;
  },
): Promise<void> {
  const known = new Set(records.flatMap(runsOf).map(({ id }) => id));
  const placed = await confinement.listRuns();
  const written = [
    ...await readdir(runsFolder(layout)),
    ...await listMarkedRuns(marksFolder(layout)),
    ...await listEnvironments(layout),
  ];
  const unplaced = [...new Set(written)].filter((runId) => !placed.some((run) => run.runId === runId));
  const runs: RunRef[] = [...placed, ...unplaced.map((runId) => ({ folder: "", runId }))];
  for (const run of runs.filter(({ runId }) => !known.has(runId))) {
    log.warn("removing a run that no record knows", { ...run });
    try {
      await cancelRun(markPath(layout, run.runId));
      await confinement.kill(run);
      await cleanUp(run);
    } catch (error) {
      // It is tried again by the next agent; what is left of it keeps nobody from starting.
      log.warn("a run could not be removed", { ...run, error });
    }
  }
}

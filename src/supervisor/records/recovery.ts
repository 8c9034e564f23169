/** Recovery when an agent starts: apps whose record is lost but whose run continues, and runs without a record. */
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Logger } from "../../lib/log.ts";
import type { Confinement, ConfinementOf } from "../confinement/confinement.ts";
import type { RunRef } from "../types.ts";
import { type Layout, markPath, marksFolder, runFolder, type RunLayout, runsFolder } from "../layout.ts";
import { cancelRun, listEnvironments, listMarkedRuns, readLeaf } from "../run/run.ts";
import { readRunRecord, type RecordStore, replaceRunRecord } from "./record-store.ts";
import { runsOf } from "../run-ref.ts";
import { keyOf } from "../../api/names.ts";
import type { AppRecord } from "../types.ts";

/**
 * Loads the records, and adds those of apps that only their runs know: the folder of each run has a copy. Writes both places again
 * where one was lost, so an app is forgotten only if both are damaged at once.
 */
export async function recoverRecords(
  { store, layout, log }: { store: RecordStore; layout: Layout; log: Logger },
): Promise<AppRecord[]> {
  const records = await store.load();
  const known = new Set(records.map(({ app }) => keyOf(app)));
  const runIds = await readdir(runsFolder(layout));
  const copies = await readCopies(runIds, layout, log);
  const recovered: AppRecord[] = [];
  for (const record of copies) {
    const app = keyOf(record.app);
    if (known.has(app)) continue;
    log.warn("recovered an app from its run because its record was lost", { app, run: record.run?.id });
    known.add(app);
    recovered.push(record);
  }
  const copied = new Set(copies.map(({ run }) => run?.id));
  const uncopied = records.filter(({ run }) => run && !copied.has(run.id) && runIds.includes(run.id));
  const repairs = [
    ...recovered.map((record) => () => store.save(record)),
    ...uncopied.map((record) => () => replaceRunRecord(runFolder(layout, record.run!.id), record)),
  ];
  for (const repair of repairs) {
    await repair().catch((error: Error) => log.warn("cannot write a lost record again", { error }));
  }
  return [...records, ...recovered];
}

/** Reads the copies of the runs, newest first: a copy knows only the runs of its app that are older. */
async function readCopies(runIds: string[], layout: Layout, log: Logger): Promise<AppRecord[]> {
  const records: AppRecord[] = [];
  for (const runId of runIds) {
    const record = await readRunRecord(runFolder(layout, runId), log);
    if (record?.run?.id === runId) records.push(record);
  }
  const createdAt = ({ run }: AppRecord) => run?.createdAt ?? 0;
  return records.sort((a, b) => createdAt(b) - createdAt(a));
}

/** Ends runs without a record: an agent died before the clean-up of a run, or all records of the app are lost. */
export async function removeLeftovers(
  records: AppRecord[],
  { layout, confinement, confinementOf, log, cleanUp }: {
    layout: RunLayout;
    confinement: Confinement;
    confinementOf: ConfinementOf;
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
  const lost = [...placed.map(({ runId }) => runId), ...unplaced].filter((runId) => !known.has(runId));
  for (const runId of lost) {
    const run = placed.find((run) => run.runId === runId) ?? await findElsewhere(layout, runId);
    log.warn("removing a run without a record", { ...run });
    try {
      await cancelRun(markPath(layout, run.runId));
      await confinementOf(run).kill(run);
      await cleanUp(run);
    } catch (error) {
      // The next agent tries again; what remains of the run does not block a start.
      log.warn("cannot remove a run", { ...run, error });
    }
  }
}

/** A run elsewhere: below another root, or without a cgroup, where only its marker identifies it. */
async function findElsewhere(layout: Layout, runId: string): Promise<RunRef> {
  const leaf = await readLeaf(runFolder(layout, runId)) ?? "";
  return { folder: leaf && basename(dirname(leaf)), runId, leaf };
}

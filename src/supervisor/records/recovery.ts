/**
 * What an agent finds when it starts: apps whose state file is lost but whose run goes on, and runs that nobody knows.
 */
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
 * The records, and those of apps that are known by their runs only: each run's folder holds a copy. Both places then have what the
 * other one lost, so that an app is not known any more only where both are damaged at once.
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
    log.warn("took an app over from its run, since its state file was lost", { app, run: record.run?.id });
    known.add(app);
    recovered.push(record);
  }
  const copied = new Set(copies.map(({ run }) => run?.id));
  const uncopied = records.filter(({ run }) => run && !copied.has(run.id) && runIds.includes(run.id));
  const mends = [
    ...recovered.map((record) => () => store.save(record)),
    ...uncopied.map((record) => () => replaceRunRecord(runFolder(layout, record.run!.id), record)),
  ];
  for (const mend of mends) {
    await mend().catch((error: Error) => log.warn("a lost record could not be written anew", { error }));
  }
  return [...records, ...recovered];
}

/** The copies that runs have, the newest first: it knows the runs of its app that began before it, they do not know it. */
async function readCopies(runIds: string[], layout: Layout, log: Logger): Promise<AppRecord[]> {
  const records: AppRecord[] = [];
  for (const runId of runIds) {
    const record = await readRunRecord(runFolder(layout, runId), log);
    if (record?.run?.id === runId) records.push(record);
  }
  const begun = ({ run }: AppRecord) => run?.createdAt ?? 0;
  return records.sort((one, other) => begun(other) - begun(one));
}

/** Ends runs that no record knows: an agent died between the end of a run and its clean-up, or all that was known is lost. */
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
    log.warn("removing a run that no record knows", { ...run });
    try {
      await cancelRun(markPath(layout, run.runId));
      await confinementOf(run).kill(run);
      await cleanUp(run);
    } catch (error) {
      // It is tried again by the next agent; what is left of it keeps nobody from starting.
      log.warn("a run could not be removed", { ...run, error });
    }
  }
}

/** A run that is not where this agent puts them: below another root, or without a cgroup, and then known by its marker alone. */
async function findElsewhere(layout: Layout, runId: string): Promise<RunRef> {
  const leaf = await readLeaf(runFolder(layout, runId)) ?? "";
  return { folder: leaf && basename(dirname(leaf)), runId, leaf };
}

/** Recovery when an agent starts: apps whose record is lost but whose run continues, and runs without a record. */
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "../../lib/log.ts";
import type { Confinement } from "../confinement/confinement.ts";
import {
  appFolder,
  folderOf,
  type Layout,
  markPath,
  marksFolder,
  runFolder,
  type RunLayout,
  runsFolder,
} from "../layout.ts";
import { appFileName } from "../../api/app-file-name.ts";
import { appOfProcess } from "../processes.ts";
import { cancelRun, listEnvironments, listMarkedRuns, readLeaf } from "../run/run.ts";
import { readRunRecord, type RecordStore, replaceRunRecord, type UnreadableRecord } from "./record-store.ts";
import { runsOf } from "../run-ref.ts";
import { isSafeName, isSafeNamespace, keyOf } from "../../api/names.ts";
import type { AppRecord, RunRef } from "../types.ts";

/** Apps that wait for an operator because their record cannot be read, by their folder; the text says what to do. */
export type Holds = Map<string, string>;

/**
 * Loads the records, and adds those of apps that only their runs know: the folder of each run has a copy. Writes both places again
 * where one was lost, so an app is forgotten only if both are damaged at once. An app whose record a later version wrote, or whose
 * record and copy cannot be read, is on hold.
 */
export async function recoverRecords(
  { store, layout, log }: { store: RecordStore; layout: Layout; log: Logger },
): Promise<{ records: AppRecord[]; holds: Holds }> {
  const unreadable: UnreadableRecord[] = [];
  const records = await store.load((file) => unreadable.push(file));
  const known = new Set(records.map(({ app }) => keyOf(app)));
  const runIds = await readdir(runsFolder(layout));
  const copies = await readCopies(runIds, layout, log);
  const recovered: AppRecord[] = [];
  for (const record of copies) {
    const app = keyOf(record.app);
    if (known.has(app) || unreadable.some((file) => file.isLater && file.folder === folderOf(record.app))) {
      continue;
    }
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
  const all = [...records, ...recovered];
  const found = new Set(all.map(({ app }) => folderOf(app)));
  const holds = unreadable.filter(({ folder }) => !found.has(folder)).map((file) =>
    [file.folder, adviceOf(file)] as const
  );
  return { records: all, holds: new Map(holds) };
}

/** Reads the copies of the runs, newest first: a copy knows only the runs of its app that are older. */
async function readCopies(runIds: string[], layout: Layout, log: Logger): Promise<AppRecord[]> {
  const records: AppRecord[] = [];
  for (const runId of runIds) {
    const { record, problem } = await readRunRecord(runFolder(layout, runId));
    if (problem) log.warn("cannot read the record of a run", { path: problem.path, why: problem.why });
    if (record?.run?.id === runId) records.push(record);
  }
  const createdAt = ({ run }: AppRecord) => run?.createdAt ?? 0;
  return records.sort((a, b) => createdAt(b) - createdAt(a));
}

function adviceOf({ path, why, isLater }: Omit<UnreadableRecord, "folder">): string {
  const repair = isLater ? "install that version of nckubelet again" : "restore the file";
  return `cannot read ${path}: ${why}; ${repair}, or end the app's processes and remove the file; then restart the agent`;
}

/**
 * Ends runs without a record: an agent died before the clean-up of a run. A run whose app is on hold is left alone, and so is one
 * that lives and whose records are damaged: its app is added to `holds`.
 */
export async function removeLeftovers(
  records: AppRecord[],
  { layout, confinement, log, cleanUp, holds }: {
    layout: RunLayout;
    confinement: Confinement;
    log: Logger;
    cleanUp: (run: RunRef) => Promise<void>;
    holds: Holds;
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
  const recorded = new Set(records.map(({ app }) => folderOf(app)));
  for (const runId of lost) {
    const run = placed.find((run) => run.runId === runId) ?? await findElsewhere(layout, runId);
    try {
      const processes = await confinement.processes(run);
      const folder = run.folder || await folderOfProcess(processes[0]);
      const why = recorded.has(folder)
        ? undefined
        : await whyUnreadable(layout, run.runId, folder, processes, holds);
      if (why !== undefined) {
        log.error("leaving a run alone whose record cannot be read", { ...run, folder, why });
        if (folder) holds.set(folder, why);
        continue;
      }
      log.warn("removing a run without a record", { ...run });
      await cancelRun(markPath(layout, run.runId));
      await confinement.kill(run);
      await cleanUp(run);
    } catch (error) {
      // The next agent tries again; what remains of the run does not block a start.
      log.warn("cannot remove a run", { ...run, error });
    }
  }
}

/** Why a run without a record may be one that only this agent cannot read; undefined for a leftover. */
async function whyUnreadable(
  layout: Layout,
  runId: string,
  folder: string,
  processes: number[],
  holds: Holds,
): Promise<string | undefined> {
  const { problem: copy } = await readRunRecord(runFolder(layout, runId));
  const held = holds.get(folder);
  if (held !== undefined) return held;
  if (copy?.isLater || (copy && processes.length > 0)) return adviceOf(copy);
  if (!folder || processes.length === 0) return undefined;
  const aside = (await readdir(appFolder(layout, folder)).catch(() => [])).findLast((file) =>
    file.includes(".bad-")
  );
  return aside && adviceOf({ path: join(appFolder(layout, folder), aside), why: "damaged", isLater: false });
}

async function folderOfProcess(pid: number | undefined): Promise<string> {
  const app = pid === undefined ? undefined : await appOfProcess(pid);
  return app && isSafeNamespace(app.namespace) && isSafeName(app.name)
    ? appFileName(app.namespace, app.name)
    : "";
}

/** A run elsewhere: below another root, or without a cgroup, where only its marker identifies it. */
async function findElsewhere(layout: Layout, runId: string): Promise<RunRef> {
  const leaf = await readLeaf(runFolder(layout, runId)) ?? "";
  return { folder: leaf && basename(dirname(leaf)), runId, leaf };
}

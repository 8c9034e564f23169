import type { Confinement } from "../confinement/confinement.ts";
import { isAlive, readStat } from "../processes.ts";
import { refOf } from "../run-ref.ts";
import type { AppRecord, ProcessId, Run } from "../types.ts";

/** The process that `status.pid` names, if it lives. Of a survivor only the pid is known: it has to be of this run still. */
export async function findMain(
  record: AppRecord,
  run: Run,
  confinement: Pick<Confinement, "processes">,
): Promise<ProcessId | undefined> {
  const { main, survivor } = run;
  if (survivor === undefined) return main && isAlive(main) ? main : undefined;
  // The start time first: a process that takes the pid after the list was read has another one.
  const seen = readStat(survivor);
  return seen && (await confinement.processes(refOf(record, run))).includes(survivor) ? seen : undefined;
}

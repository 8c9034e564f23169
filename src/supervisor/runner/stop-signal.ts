/** Sends `spec.stopSignal` to every process of a run, or to its main process. */
import type { Confinement } from "../confinement/confinement.ts";
import { signalOf } from "../decide/decide.ts";
import { signalProcess } from "../processes.ts";
import { refOf } from "../run-ref.ts";
import type { AppRecord, Run } from "../types.ts";
import { findMain } from "./main-process.ts";

/** If the main process has ended, all others get the signal: nobody else would tell them. */
export async function sendStopSignal(
  record: AppRecord,
  run: Run,
  confinement: Pick<Confinement, "processes" | "signal">,
): Promise<void> {
  const { app } = record;
  const main = app.spec.stopTarget === "Main" ? await findMain(record, run, confinement) : undefined;
  if (main) return await signalProcess(main, signalOf(app));
  await confinement.signal(refOf(record, run), signalOf(app));
}

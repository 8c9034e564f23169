import { annotations } from "../../api/names.ts";
import type { NCApp } from "../../api/types.ts";

/**
 * Takes away what the scheduler never reads, mostly the program and its environment, and keeps the app. A list holds all objects
 * until it is whole; without this, that is most of the scheduler's memory.
 */
export function slim(app: NCApp): true {
  const { metadata, spec, status } = app;
  const mirror = metadata.annotations?.[annotations.mirror];
  if (mirror === undefined) delete metadata.annotations;
  else metadata.annotations = { [annotations.mirror]: mirror };
  delete metadata.labels;
  for (const field of ["args", "env", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
    delete spec?.[field];
  }
  delete status?.lastExit;
  return true;
}

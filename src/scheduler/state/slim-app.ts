import { annotations, isMirror } from "../../api/names.ts";
import { probeNames } from "../../api/probe-mechanisms.ts";
import type { NCApp, NCAppSpec, NCAppStatus } from "../../api/types.ts";

const removedFields = ["args", "env", ...probeNames] as const;

/** An NCApp as the scheduler keeps it: reading a field that `slim` removes is a type error. Every NCApp is a SlimApp. */
export interface SlimApp extends Omit<NCApp, "metadata" | "spec" | "status"> {
  metadata: Omit<NCApp["metadata"], "annotations" | "labels"> & {
    annotations?: { [annotations.mirror]?: string };
  };
  spec: SlimSpec;
  status?: SlimStatus;
}

export type SlimSpec = Omit<NCAppSpec, typeof removedFields[number]>;
export type SlimStatus = Omit<NCAppStatus, "lastExit">;

/**
 * Removes what the scheduler never reads, mostly the program and its environment, and returns true to keep the app. A list holds all
 * objects until it is complete; without this, they would be most of the scheduler's memory.
 */
export function slim(app: SlimApp): true {
  const { metadata, spec, status } = app as NCApp;
  if (!isMirror({ metadata })) delete metadata.annotations;
  else metadata.annotations = { [annotations.mirror]: metadata.annotations?.[annotations.mirror] ?? "" };
  delete metadata.labels;
  for (const field of removedFields) delete spec?.[field];
  delete status?.lastExit;
  return true;
}

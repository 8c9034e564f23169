import { annotations, isMirror } from "../../api/names.ts";
import { probeNames } from "../../api/probe-mechanisms.ts";
import type { NCApp, NCAppSpec } from "../../api/types.ts";
import { pick } from "../../lib/objects.ts";
import { type AppStatus, statusFields } from "../types.ts";

const removedFields = ["args", "env", ...probeNames] as const;

/** An NCApp as the scheduler keeps it: reading a field that `slim` removes is a type error. Every NCApp is a SlimApp. */
export interface SlimApp extends Omit<NCApp, "metadata" | "spec" | "status"> {
  metadata: Omit<NCApp["metadata"], "annotations"> & {
    annotations?: { [annotations.mirror]?: string };
  };
  spec: SlimSpec;
  status?: AppStatus;
}

export type SlimSpec = Omit<NCAppSpec, typeof removedFields[number]>;

/** Leaves out what the scheduler never reads, mostly the program and its environment: most of its memory otherwise. */
export function slim({ metadata, spec, status, ...app }: SlimApp): SlimApp {
  const { annotations: all, ...rest } = metadata as NCApp["metadata"];
  const mark = isMirror({ metadata }) && { [annotations.mirror]: all?.[annotations.mirror] ?? "" };
  return {
    ...app,
    metadata: { ...rest, ...(mark && { annotations: mark }) },
    spec: without(spec, removedFields),
    ...(status && { status: pick(status, statusFields) }),
  };
}

function without<T extends object>(object: T, fields: readonly string[]): T {
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field))) as T;
}

/** The caps of an app, as numbers and as text. */
import { parsePercent } from "../../api/percent.ts";
import { memoize } from "../../lib/memoize.ts";
import type { Caps } from "./types.ts";
import type { RunnableApp } from "../types.ts";

/** The caps of the spec as numbers; for one app the same object each time. */
export const capsOf: (app: RunnableApp) => Caps = memoize(({ spec }) => ({
  cpuPCT: parsePercent(spec.cpuPCT),
  memPCT: parsePercent(spec.memPCT),
  pidsMax: spec.pidsMax,
  oomPolicy: spec.oomPolicy,
}));

/** Reports whether the app has a cap on CPU or memory; the cap on processes, which every app has, does not count. */
export function hasCaps({ cpuPCT, memPCT }: Caps): boolean {
  return cpuPCT !== undefined || memPCT !== undefined;
}

/** Such as `cpuPCT 20 and memPCT 10`. */
export function describeCaps({ cpuPCT, memPCT }: Caps): string {
  const parts = [cpuPCT !== undefined && `cpuPCT ${cpuPCT}`, memPCT !== undefined && `memPCT ${memPCT}`];
  return parts.filter(Boolean).join(" and ");
}

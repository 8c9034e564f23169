import { CgroupError } from "../error.ts";

/** Returns the text of `pids.max`, or `max` without a cap. */
export function pidsMaxFor(pidsMax: number | undefined): string {
  if (pidsMax === undefined) return "max";
  if (Number.isInteger(pidsMax) && pidsMax >= 1 && pidsMax <= MAX_PIDS) return String(pidsMax);
  throw new CgroupError(
    `cannot cap the processes at ${pidsMax}: it must be a whole number from 1 to ${MAX_PIDS}`,
    { code: "ERANGE" },
  );
}

/** PID_MAX_LIMIT of a 64-bit kernel; more is EINVAL. */
const MAX_PIDS = 4_194_304;

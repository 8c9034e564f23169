import { CgroupError } from "../error.ts";

/** The figures of the pids controller: processes and threads. */
export interface PidsStats {
  current: number;
}

/** The text of `pids.max`, `max` for no cap. */
export function pidsMaxFor(pidsMax: number | undefined): string {
  if (pidsMax === undefined) return "max";
  if (Number.isInteger(pidsMax) && pidsMax >= 1 && pidsMax <= MOST) return String(pidsMax);
  throw new CgroupError(
    `cannot cap the processes at ${pidsMax}: it must be a whole number from 1 to ${MOST}`,
    {
      path: "",
      file: "pids.max",
      value: String(pidsMax),
      code: "ERANGE",
    },
  );
}

/** PID_MAX_LIMIT of a 64-bit kernel; more is EINVAL. */
const MOST = 4_194_304;

import { CgroupError } from "../error.ts";
import { parseFlat } from "../parse.ts";

/** Counters of `cpu.stat`. `throttledUsec` is zero if no cap was ever set. */
export interface CpuStats {
  usageUsec: number;
  throttledUsec: number;
}

/**
 * Returns the text of `cpu.max` for a percentage of the whole node, or `max 100000` without one.
 *
 * The period is 100 ms, the kernel's default, because an app that has used up its share stalls for up to one period. It grows to 200,
 * 500 or 1000 ms only if the quota would be below 1 ms, the kernel's minimum. So 0.1% of one CPU is the smallest cap, and anything
 * below is an error, not a silently larger cap.
 */
export function cpuMaxFor(percent: number | undefined, cpus: number): string {
  if (percent === undefined) return `max ${PERIODS_USEC[0]}`;
  if (!(percent > 0 && percent <= 100)) throw badPercent(percent, "it must be above 0 and at most 100");
  if (!Number.isInteger(cpus) || cpus < 1) {
    throw badPercent(percent, `the number of CPUs must be a whole number, not ${cpus}`);
  }
  for (const period of PERIODS_USEC) {
    const quota = Math.round((percent / 100) * cpus * period);
    if (quota >= MIN_QUOTA_USEC) return `${quota} ${period}`;
  }
  const least = MIN_QUOTA_USEC / PERIODS_USEC[PERIODS_USEC.length - 1]! / cpus * 100;
  throw badPercent(percent, `the smallest cap is ${least}% on ${cpus} CPU${cpus === 1 ? "" : "s"}`);
}

export function parseCpuStat(text: string, where = "cpu.stat"): CpuStats {
  const flat = parseFlat(text, where);
  return {
    usageUsec: flat["usage_usec"] ?? 0,
    throttledUsec: flat["throttled_usec"] ?? 0,
  };
}

const MIN_QUOTA_USEC = 1_000;
const PERIODS_USEC = [100_000, 200_000, 500_000, 1_000_000];

function badPercent(percent: number, why: string): CgroupError {
  return new CgroupError(`cannot cap the CPU at ${percent}%: ${why}`, { code: "ERANGE" });
}

import { CgroupError } from "../error.ts";
import { parseFlat } from "../parse.ts";

/** Counters of `cpu.stat`. The throttling ones are zero where no cap was ever set. */
export interface CpuStats {
  usageUsec: number;
  userUsec: number;
  systemUsec: number;
  /** Enforcement periods that passed while the cgroup had something to run. */
  periods: number;
  throttledPeriods: number;
  throttledUsec: number;
}

/**
 * The text of `cpu.max` for a percentage of the whole node, `max 100000` for none.
 *
 * The period is 100 ms, the kernel's own default, because it is the worst stall of an app that used up its
 * share. It grows to 200, 500 or 1000 ms only where the quota would be under 1 ms, the least the kernel takes;
 * so 0.1% of one CPU is the smallest cap, and anything below is an error, not a silently larger cap.
 */
export function cpuMaxFor(percent: number | undefined, cpus: number): string {
  if (percent === undefined) return `max ${PERIODS_USEC[0]}`;
  if (!(percent > 0 && percent <= 100)) throw badPercent(percent, "it must be over 0 and at most 100");
  if (!Number.isInteger(cpus) || cpus < 1) throw badPercent(percent, `${cpus} CPUs are not a node`);
  for (const period of PERIODS_USEC) {
    const quota = Math.round((percent / 100) * cpus * period);
    if (quota >= LEAST_QUOTA_USEC) return `${quota} ${period}`;
  }
  const least = LEAST_QUOTA_USEC / PERIODS_USEC[PERIODS_USEC.length - 1]! / cpus * 100;
  throw badPercent(percent, `the kernel holds no less than ${least} on ${cpus} CPU${cpus === 1 ? "" : "s"}`);
}

/** Parses `cpu.stat`. */
export function parseCpuStat(text: string, where = "cpu.stat"): CpuStats {
  const flat = parseFlat(text, where);
  return {
    usageUsec: flat["usage_usec"] ?? 0,
    userUsec: flat["user_usec"] ?? 0,
    systemUsec: flat["system_usec"] ?? 0,
    periods: flat["nr_periods"] ?? 0,
    throttledPeriods: flat["nr_throttled"] ?? 0,
    throttledUsec: flat["throttled_usec"] ?? 0,
  };
}

const LEAST_QUOTA_USEC = 1_000;
const PERIODS_USEC = [100_000, 200_000, 500_000, 1_000_000];

function badPercent(percent: number, why: string): CgroupError {
  return new CgroupError(`cannot cap the CPU at ${percent}%: ${why}`, {
    path: "",
    file: "cpu.max",
    value: String(percent),
    code: "ERANGE",
  });
}

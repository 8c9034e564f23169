/** Parsers of files in /proc. Pure. */

export interface CpuTimes {
  /** In ticks since boot, over all CPUs. */
  busy: number;
  total: number;
}

/** Parses the first line of /proc/stat. Waiting for a disk is idle time, and the time of guests is already part of user time. */
export function parseCpuTimes(stat: string): CpuTimes {
  const line = stat.slice(0, stat.indexOf("\n"));
  const [name, ...fields] = line.trim().split(/\s+/);
  const [user = NaN, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = fields
    .map(Number);
  const busy = user + nice + system + irq + softirq + steal;
  if (name !== "cpu" || Number.isNaN(busy)) {
    throw new Error(`cannot read CPU times from ${JSON.stringify(line.slice(0, 100))}`);
  }
  return { busy, total: busy + idle + iowait };
}

/** Parses total and available memory from /proc/meminfo. */
export function parseMemory(meminfo: string): { totalBytes: number; availableBytes: number } {
  const bytes = (field: string) => {
    const value = meminfo.match(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m"))?.[1];
    if (value === undefined) throw new Error(`no ${field} in /proc/meminfo`);
    return Number(value) * 1024;
  };
  return { totalBytes: bytes("MemTotal"), availableBytes: bytes("MemAvailable") };
}

/** Parses the 10 s averages of a file in /proc/pressure (kernels with PSI); undefined for an empty text. */
export function parsePressure(text: string): { some: number; full: number } | undefined {
  const average = (line: string) => Number(text.match(new RegExp(`^${line} avg10=([\\d.]+)`, "m"))?.[1]);
  const some = average("some");
  return Number.isNaN(some) ? undefined : { some, full: average("full") || 0 };
}

/** Returns the number of processes and threads: the number after the slash in /proc/loadavg. */
export function parseThreads(loadavg: string): number {
  return Number(loadavg.match(/\b\d{1,10}\/(\d{1,10})/)?.[1] ?? 0);
}

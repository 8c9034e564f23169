import type { Reading } from "../../supervisor/metering.ts";

export interface IdleApps {
  isIdle(key: string): boolean;
  forget(key: string): void;
}

/**
 * Tells which apps have not used the CPU since they were asked about last, and so cannot have written a line: a look at hundreds of logs
 * costs more than all else of a quiet node. Where nothing was measured in between, an app counts as having worked.
 */
export function createIdleApps(reading: (key: string) => Reading | undefined): IdleApps {
  const asked = new Map<string, Reading>();
  return {
    isIdle(key) {
      const [before, now] = [asked.get(key), reading(key)];
      if (now) asked.set(key, now);
      else asked.delete(key);
      return before !== undefined && now !== undefined && now !== before &&
        now.usage.cpuSeconds === before.usage.cpuSeconds;
    },
    forget: (key) => void asked.delete(key),
  };
}

/**
 * Descriptors that this process was given by whoever started it. They would pass on to every app: they are closed instead.
 */
import { closeSync, readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;

/**
 * Closes what is open beyond the standard three and would survive an exec; what the runtime opened itself never would.
 * Returns what it closed. Caveat: Deno closes only descriptors that it knows; the others stay.
 */
export function closeInheritedDescriptors(): number[] {
  return inheritedDescriptors().filter(closes);
}

/** What a child of this process would get beyond the standard three. */
export function inheritedDescriptors(): number[] {
  return readdirSync("/proc/self/fd").map(Number).filter((descriptor) =>
    descriptor > 2 && survivesExec(descriptor)
  );
}

function closes(descriptor: number): boolean {
  try {
    closeSync(descriptor);
    return true;
  } catch {
    return false;
  }
}

function survivesExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // The descriptor of the listing itself is gone by now.
    return false;
  }
}

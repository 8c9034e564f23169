/** Closes file descriptors that this process inherited from its parent, so that no app inherits them. */
import { closeSync, readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;

/**
 * Closes all descriptors above 2 that would survive an exec; those that the runtime opened itself never do. Returns those
 * that it closed. Caveat: Deno closes only descriptors that it tracks; the others stay.
 */
export function closeInheritedDescriptors(): number[] {
  return inheritedDescriptors().filter(closes);
}

/** Returns the descriptors above 2 that a child process would inherit. */
function inheritedDescriptors(): number[] {
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
    // The descriptor of the directory listing itself is closed by now.
    return false;
  }
}

/** The names of runs: unique over agents and boots, and told from whatever else has a name. */
import { randomBytes } from "node:crypto";

/** A name that no other run has, here or on any machine. */
export function newRunId(now: number): string {
  return `${Math.floor(now).toString(36)}-${randomBytes(5).toString("hex")}`;
}

/** Whether a name is one that `newRunId` makes. */
export function isRunId(name: string): boolean {
  return /^[0-9a-z]+-[0-9a-f]{10}$/.test(name);
}

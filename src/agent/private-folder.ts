import { createHash } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { AgentOptions } from "./options.ts";

/**
 * The folder for what must not reach a disk: beside the agent's socket, which is in memory (/run) unless it was put elsewhere. The
 * name is that of the agent's state, so that agents with sockets in one folder do not meet.
 */
export function privateFolder(
  { socket, stateDir }: Pick<AgentOptions, "socket" | "stateDir">,
  isRoot: boolean = process.geteuid?.() === 0,
): string {
  const runtime = socket ? dirname(resolve(socket)) : isRoot ? "/run/nckubelet" : resolve(stateDir);
  const digest = createHash("sha256").update(resolve(stateDir)).digest("hex").slice(0, 8);
  return join(runtime, `private-${digest}`);
}

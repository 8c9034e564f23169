import { copyFile } from "node:fs/promises";
import { type CommandResult, runCommand } from "../command.ts";
import type { Architecture } from "./node-binary.ts";

/** Each knows the executables of its own machine; that of LLVM knows all. */
const tools: Record<Architecture, string[]> = {
  amd64: ["x86_64-linux-gnu-strip", "llvm-strip", "strip"],
  arm64: ["aarch64-linux-gnu-strip", "llvm-strip", "strip"],
};

/** Copies an executable without its symbols, a fifth of Node; tells whether a tool was there to do it. */
export async function copyStripped(
  source: string,
  target: string,
  arch: Architecture,
  run: (file: string, args: string[]) => Promise<CommandResult> = runCommand,
): Promise<boolean> {
  for (const tool of tools[arch]) {
    const { code } = await run(tool, ["-o", target, source]);
    if (code === 0) return true;
  }
  await copyFile(source, target);
  return false;
}

import { copyFile } from "node:fs/promises";
import { type CommandResult, runCommand } from "../command.ts";
import type { Architecture } from "./node-binary.ts";

/** Each supports the executables of its own architecture; LLVM's supports all. */
const tools: Record<Architecture, string[]> = {
  amd64: ["x86_64-linux-gnu-strip", "llvm-strip", "strip"],
  arm64: ["aarch64-linux-gnu-strip", "llvm-strip", "strip"],
};

/** Copies an executable without its symbols, which are a fifth of Node; reports whether a tool was available. */
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

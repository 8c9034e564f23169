import { runCommand } from "../command.ts";
import { type Architecture, hostArchitecture } from "./node-binary.ts";

/** Where Debian's packages libc6-ARCH-cross, libstdc++6-ARCH-cross and libatomic1-ARCH-cross put their libraries. */
const machines = { amd64: "x86_64", arm64: "aarch64" };

/**
 * The words to put before a program of that machine to run it here: none on the machine itself, an emulator's where QEMU's
 * user mode and the libraries of that machine are installed, undefined where it cannot be run.
 */
export async function findRunner(arch: Architecture, node: string): Promise<string[] | undefined> {
  if (arch === hostArchitecture()) return [];
  const machine = machines[arch];
  for (const emulator of [`qemu-${machine}-static`, `qemu-${machine}`]) {
    const runner = [emulator, "-L", `/usr/${machine}-linux-gnu`];
    const { code } = await runCommand(emulator, [...runner.slice(1), node, "--version"], {
      timeoutMs: 60_000,
    });
    if (code === 0) return runner;
  }
  return undefined;
}

import { runCommand } from "../command.ts";
import { type Architecture, hostArchitecture } from "./node-binary.ts";

/** Where Debian's packages libc6-ARCH-cross, libstdc++6-ARCH-cross and libatomic1-ARCH-cross put their libraries. */
const machines = { amd64: "x86_64", arm64: "aarch64" };

/**
 * Returns the command prefix that runs a program of that architecture here: empty for this machine's own, an emulator if QEMU's
 * user mode and the libraries of that architecture are installed, undefined if it cannot run.
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

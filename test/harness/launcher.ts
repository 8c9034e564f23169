/** The launcher for tests, compiled when its source has changed. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import process from "node:process";
import type { Logger } from "../../src/lib/log.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { installHelper, type Launcher, openLauncher } from "../../src/supervisor/launcher/launcher.ts";
import { compiled, compileVariant, currentLauncher, sanitizers } from "../../tools/build/launcher.ts";
import type { Architecture } from "../../tools/build/node-binary.ts";

/**
 * Returns the path of the launcher for an architecture; call it on the host before a guest needs it. `NCKUBELET_LAUNCHER` names another one
 * for the tests on this machine: `sanitized`, or the path of a program that runs it, such as under valgrind.
 */
export async function builtLauncher(arch?: Architecture): Promise<string> {
  const built = await currentLauncher(arch);
  const other = arch === undefined ? process.env.NCKUBELET_LAUNCHER : undefined;
  return other === "sanitized" ? await sanitizedLauncher() : other || built;
}

/** Returns the path of the launcher with sanitizers. */
export function sanitizedLauncher(): Promise<string> {
  return compiled("launcher-sanitized", (path) => compileVariant(path, sanitizers));
}

/** Returns the path of a launcher that is killed at that step; launcher.c numbers them. */
export function crashingLauncher(step: number): Promise<string> {
  return compiled(`launcher-crash-${step}`, (path) => compileVariant(path, [`-DCRASH_AT=${step}`, "-O0"]));
}

/** Returns the path of a script that runs the launcher for arm64 in an emulator. */
export async function emulatedLauncher(): Promise<string> {
  const launcher = await builtLauncher("arm64");
  return await compiled("launcher-emulated", async (path) => {
    await writeFile(path, `#!/bin/sh\nexec qemu-aarch64-static ${launcher} "$@"\n`, { mode: 0o755 });
  });
}

/** Opens a launcher as an agent with this state folder does. */
export async function openTestLauncher(stateDir: string, log: Logger = silentLogger): Promise<Launcher> {
  const content = readFileSync(await builtLauncher());
  const install = (folder: string) => installHelper(folder, { readOwn: () => content });
  const launcher = await openLauncher({ stateDir, log, install });
  if (launcher.state.kind !== "native") throw new Error(launcher.state.message);
  return launcher;
}

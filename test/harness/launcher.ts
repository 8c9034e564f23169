/** The native launcher for tests, compiled when its source has changed. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../src/lib/log.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { installHelper } from "../../src/supervisor/launcher/helper.ts";
import { createShLauncher, type Launcher, openLauncher } from "../../src/supervisor/launcher/launcher.ts";
import { compileLauncher, compileVariant, sanitizers } from "../../tools/build/launcher.ts";
import { type Architecture, hostArchitecture } from "../../tools/build/node-binary.ts";
import { checkout } from "./parts.ts";

export const launcherKinds = ["native", "sh"] as const;
export type LauncherKind = typeof launcherKinds[number];

/** Returns the path of the launcher for an architecture; call it on the host before a guest needs it. */
export async function builtLauncher(arch: Architecture = hostArchitecture()): Promise<string> {
  return await compiled(`launcher-${arch}`, async (path) => {
    if (!await compileLauncher(arch, path)) throw new Error(`no compiler for the launcher for ${arch}`);
  });
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
export async function openTestLauncher(
  kind: LauncherKind,
  stateDir: string,
  log: Logger = silentLogger,
): Promise<Launcher> {
  if (kind === "sh") return createShLauncher({ stateDir, why: "the test asks for it" });
  const content = readFileSync(await builtLauncher());
  const install = (folder: string) => installHelper(folder, { readOwn: () => content });
  const launcher = await openLauncher({ stateDir, log, install });
  if (launcher.state.kind !== "native") throw new Error(launcher.state.message);
  return launcher;
}

async function compiled(name: string, compile: (path: string) => Promise<void>): Promise<string> {
  const folder = join(checkout, "dist");
  const path = join(folder, name);
  const source = join(checkout, "launcher/launcher.c");
  if (!existsSync(path) || statSync(path).mtimeMs < statSync(source).mtimeMs) {
    await mkdir(folder, { recursive: true });
    await compile(path);
  }
  return path;
}

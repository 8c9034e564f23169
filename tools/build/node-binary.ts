/**
 * Finds the Node binary for an executable: that of this checkout, or the same version for another architecture from npm.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import manifest from "../../package.json" with { type: "json" };
import { must } from "../command.ts";

/** The architectures that executables are built for, as Linux packages name them. */
export type Architecture = "amd64" | "arm64";

/** The architecture of this machine. */
export function hostArchitecture(arch: string = process.arch): Architecture {
  if (arch === "x64") return "amd64";
  if (arch === "arm64") return "arm64";
  throw new Error(`no executable can be made on a machine of type ${JSON.stringify(arch)}: use x64 or arm64`);
}

/** Returns the path of the Node binary for an architecture; that of another one is downloaded once and cached. */
export async function nodeBinary(arch: Architecture, log: (line: string) => void): Promise<string> {
  const version = manifest.devDependencies.node;
  if (arch === hostArchitecture()) {
    if (process.version !== `v${version}`) {
      throw new Error(`this is Node ${process.version}, package.json asks for ${version}: run it by npm`);
    }
    return process.execPath;
  }
  const name = `node-linux-${arch === "amd64" ? "x64" : arch}`;
  const folder = join(cacheFolder(), `${name}-${version}`);
  if (!existsSync(folder)) {
    log(`fetching ${name} ${version}`);
    await fetchPackage(name, version, folder);
  }
  return join(folder, "bin/node");
}

/** Unpacks a package of npm's registry into a folder, atomically. */
async function fetchPackage(name: string, version: string, folder: string): Promise<void> {
  await mkdir(cacheFolder(), { recursive: true });
  const work = await mkdtemp(`${folder}.`);
  try {
    // npm checks what it downloads against the registry's digest.
    await must("npm", ["pack", "--silent", "--pack-destination", work, `${name}@${version}`], { cwd: work });
    await must("tar", ["-xzf", `${name}-${version}.tgz`], { cwd: work });
    await rename(join(work, "package"), folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The folder for what is downloaded once. */
export function cacheFolder(env = process.env): string {
  return env.NCKUBELET_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "nckubelet");
}

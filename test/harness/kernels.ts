/**
 * The User-Mode Linux kernels in the cache, and what is known of them on this machine.
 *
 * `install-parts.sh guest` unpacks the candidates, and boots each of them once with `try-kernels.ts`, which writes the verdict next to
 * the kernel. A verdict counts for the machine that it was found on: a kernel may boot on one CPU and panic on another (6.1 does
 * where the CPU has AMX).
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";

/** A kernel that can be booted. */
export type Kernel = {
  /** Such as "7.2.7". */
  version: string;
  /** The executable. */
  linux: string;
  /** The folder with a folder of modules for its version. */
  modules: string;
  /** The kernel parameters that it needs on this machine. */
  parameters: string[];
};

/** What not every kernel has. */
export type KernelFeature = "cgroup-v1-memory";

/** What a trial showed: the parameters that it works with and what it has then, or why it works with none. */
export type Verdict = {
  machine: string;
  parameters: string[];
  features: KernelFeature[];
  problem?: string;
};

/** A kernel in the cache; without a verdict it was not tried on this machine. */
export type Candidate = Kernel & { folder: string; verdict?: Verdict };

/** Returns the kernels in the cache, the newest first. */
export function listKernels(cache: string): Candidate[] {
  return globSync("uml-*/linux", { cwd: cache }).flatMap((path): Candidate[] => {
    const folder = join(cache, path, "..");
    const modules = join(folder, "modules");
    const version = existsSync(modules) ? readdirSync(modules)[0] : undefined;
    if (version === undefined) return [];
    const verdict = readVerdict(folder);
    const { parameters = [] } = verdict ?? {};
    return [{ version, linux: join(folder, "linux"), modules, parameters, folder, verdict }];
  }).sort((a, b) => b.version.localeCompare(a.version, undefined, { numeric: true }));
}

/**
 * Chooses the newest kernel that works here, has the features, and whose version starts with `version`. Otherwise returns why there
 * is none, kernel by kernel.
 */
export function chooseKernel(
  kernels: Candidate[],
  { version = "", features = [] }: { version?: string; features?: KernelFeature[] } = {},
): Kernel | { missing: string } {
  const refusals: string[] = [];
  for (const kernel of kernels.filter((kernel) => kernel.version.startsWith(version))) {
    const absent = features.find((feature) => !kernel.verdict?.features.includes(feature));
    const problem = !kernel.verdict
      ? "was not tried on this machine"
      : kernel.verdict.problem
      ? `does not work on this machine (${kernel.verdict.problem})`
      : absent && `has no ${absent}`;
    if (problem === undefined) return kernel;
    refusals.push(`${kernel.version} ${problem}`);
  }
  const wanted = ["User-Mode Linux", version, features.length > 0 && `with ${features.join()}`];
  return { missing: `no ${wanted.filter(Boolean).join(" ")}: ${refusals.join("; ") || "none in the cache"}` };
}

/** The file with the verdict on a kernel. */
export function verdictFile(folder: string): string {
  return join(folder, "verdict.json");
}

/**
 * Names what decides whether a kernel works: the CPU and the kernel of this machine, and the folder, whose path is in the executable of
 * a kernel with its own libc.
 */
export function machineId(folder: string, cpuinfo: string = readFileSync("/proc/cpuinfo", "utf8")): string {
  const lines = cpuinfo.split("\n").filter((line) => /^(?:model name|flags)\s*:/.test(line)).slice(0, 2);
  return createHash("sha256").update([...lines, release(), folder].join("\n")).digest("hex").slice(0, 16);
}

function readVerdict(folder: string): Verdict | undefined {
  try {
    const verdict: Verdict = JSON.parse(readFileSync(verdictFile(folder), "utf8"));
    return verdict.machine === machineId(folder) ? verdict : undefined;
  } catch {
    return undefined;
  }
}

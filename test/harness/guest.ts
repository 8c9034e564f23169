/**
 * Runs a script as root on a kernel with cgroup v2, whatever this machine has.
 *
 * Guarantees: the script finds cpu, memory, pids and io delegated in the cgroup `$CGROUP_ROOT`, loopback up,
 * the checkout's Node first on the PATH, and the checkout as its folder. Its exit code and whole output come
 * back; it ends at its time limit, with every process it started. Guests may run in parallel.
 * In User-Mode Linux (`guestKind()` is "uml") it sees this machine's files, and all that it writes stays in the
 * guest's memory, except in the share and in the compile cache. /tmp, /var/tmp and /run start empty.
 * A guest that panics or hangs is an error with its last lines: see user-mode-linux.ts.
 * Caveats: User-Mode Linux has one CPU and is slow to start processes (6.1: about 50 ms, Node 1-2 s; 7.2: 6 ms, Node 0.3 s), so do
 * much in one guest and do not measure time; procps cannot show start times there (`ps -o pid,args` works). Where
 * the machine itself has a delegated cgroup v2 hierarchy the script runs on it directly ("direct") and then its
 * files are real: write to a temporary folder.
 */
import { chmod, copyFile, mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { tempFolder } from "../temp-folder.ts";
import { runInCgroup, type ScriptResult } from "./delegated-cgroup.ts";
import type { Kernel, KernelFeature } from "./kernels.ts";
import { cacheDir, checkout, findGuest } from "./parts.ts";
import { quote } from "./shell-quote.ts";
import { bootUserModeLinux, guestError } from "./user-mode-linux.ts";

/** Options of a guest. */
export type GuestOptions = {
  /** The guest's memory, `"1024M"`; files that it writes count. User-Mode Linux only. */
  memory?: string;
  /** After this time the guest is killed and the code is 124. Default two minutes. */
  timeoutMs?: number;
  /** The script's folder; default is the checkout. */
  cwd?: string;
  /** Added to the script's environment. */
  env?: Record<string, string>;
  /** A host folder that the script may write to: `$SHARE` in the script, /share in User-Mode Linux. */
  share?: string;
  /** A folder that is the compile cache of each Node in this and in later guests; it has the same path in a guest. */
  compileCache?: string;
  /** What its kernel must have: see `skipUnlessKernel`. User-Mode Linux only. */
  features?: KernelFeature[];
};

/** Returns "direct" if this machine has a delegated cgroup v2 hierarchy, else "uml". */
export function guestKind(): "uml" | "direct" {
  return foundGuest().kind;
}

/** Runs the bash script in a guest and returns its exit code and its output (both streams in order). */
export async function inGuest(script: string, options: GuestOptions = {}): Promise<ScriptResult> {
  const { timeoutMs = 120_000, cwd = checkout, features, compileCache } = options;
  if (compileCache) await mkdir(compileCache, { recursive: true });
  const guest = foundGuest(features);
  if (guest.kind === "uml") return inUserModeLinux(guest.kernel, script, { ...options, timeoutMs });
  const env = {
    ...options.env,
    PATH: guestPath,
    ...(options.share && { SHARE: options.share }),
    ...cacheVariable(options),
  };
  return runInCgroup(script, guest.cgroup, { cwd, env, timeoutMs });
}

const guestPath =
  `${checkout}/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

type UmlRun = GuestOptions & { timeoutMs: number; silenceMs?: number };

/** Runs the bash script in User-Mode Linux with this kernel. */
export async function inUserModeLinux(
  kernel: Kernel,
  script: string,
  options: UmlRun,
): Promise<ScriptResult> {
  using temp = tempFolder();
  const job = temp.path;
  const init = join(job, "init");
  await copyFile(fileURLToPath(new URL("guest-init.sh", import.meta.url)), init);
  await chmod(init, 0o755);
  await writeFile(join(job, "script"), script);
  await writeFile(join(job, "settings"), await settings(options));
  const { memory = "1024M", timeoutMs, silenceMs } = options;
  const { output, console, timedOut } = await bootUserModeLinux({
    kernel,
    root: { folder: "/" },
    init,
    memory,
    parameters: [`nckubelet_job=${job}`, `nckubelet_modules=${kernel.modules}`],
    timeoutMs,
    silenceMs,
  });
  if (timedOut) return { code: 124, output, timedOut };
  const code = await readFile(join(job, "code"), "utf8").catch(() => undefined);
  if (code === undefined) throw guestError("the guest halted without an exit code", `${output}\n${console}`);
  return { code: Number(code), output, timedOut };
}

// Shell that guest-init.sh reads.
async function settings({ cwd = checkout, ...options }: UmlRun): Promise<string> {
  // A folder with files that the guest needs cannot start empty; it is part of the overlay.
  const needed = await Promise.all(
    [checkout, cwd, cacheDir()].map((path) => realpath(path).catch(() => path)),
  );
  const emptied = ["/tmp", "/var/tmp"].filter((dir) =>
    !needed.some((path) => `${path}/`.startsWith(`${dir}/`))
  );
  const env = {
    HOME: "/root",
    PATH: guestPath,
    CGROUP_ROOT: "/sys/fs/cgroup",
    SHARE: "/share",
    ...cacheVariable(options),
    ...options.env,
  };
  return [
    `cwd=${quote(cwd)}`,
    `share=${quote(options.share ? await realpath(options.share) : "")}`,
    `compile_cache=${quote(options.compileCache ?? "")}`,
    `fresh_dirs=${quote(emptied.join(" "))}`,
    ...Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}`),
    "",
  ].join("\n");
}

function cacheVariable({ compileCache }: GuestOptions): Record<string, string> {
  return compileCache ? { NODE_COMPILE_CACHE: compileCache } : {};
}

function foundGuest(features?: KernelFeature[]) {
  const guest = findGuest(process.env, features);
  if ("missing" in guest) throw new Error(guest.missing);
  return guest;
}

/**
 * Runs a script as root on a kernel with cgroup v2, whatever this machine has.
 *
 * Guarantees: the script finds cpu, memory, pids and io delegated in the cgroup `$CGROUP_ROOT`, loopback up,
 * the checkout's Node first on the PATH, and the checkout as its folder. Its exit code and whole output come
 * back; it ends at its time limit, with every process it started. Guests may run in parallel.
 * In User-Mode Linux (`guestKind()` is "uml") it sees this machine's files, and all that it writes stays in the
 * guest's memory, except below /share. /tmp, /var/tmp and /run start empty.
 * Caveats: User-Mode Linux has one CPU and is slow to start processes (about 50 ms; Node 1-2 s), so do much
 * in one guest and do not measure time; procps cannot show start times there (`ps -o pid,args` works). Where
 * the machine itself has a delegated cgroup v2 hierarchy the script runs on it directly ("direct") and then its
 * files are real: write to a temporary folder.
 */
import { chmod, copyFile, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tempFolder } from "../temp-folder.ts";
import { runInCgroup, type ScriptResult } from "./delegated-cgroup.ts";
import { cacheDir, checkout, findGuest } from "./parts.ts";
import { quote } from "./shell-quote.ts";
import { bootUserModeLinux } from "./user-mode-linux.ts";

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
  /** Folders that start empty, besides /tmp, /var/tmp and /run. User-Mode Linux only. */
  hide?: string[];
  /** A host folder that the script may write to: `$SHARE` in the script, /share in User-Mode Linux. */
  share?: string;
};

/** Returns "direct" if this machine has a delegated cgroup v2 hierarchy, else "uml". */
export function guestKind(): "uml" | "direct" {
  return foundGuest().kind;
}

/** Runs the bash script in a guest and returns its exit code and its output (both streams in order). */
export async function inGuest(script: string, options: GuestOptions = {}): Promise<ScriptResult> {
  const guest = foundGuest();
  const { timeoutMs = 120_000, cwd = checkout } = options;
  if (guest.kind === "uml") return inUserModeLinux(guest.linux, script, { ...options, timeoutMs, cwd });
  const env = { ...options.env, PATH: guestPath, ...(options.share && { SHARE: options.share }) };
  return runInCgroup(script, guest.cgroup, { cwd, env, timeoutMs });
}

const guestPath =
  `${checkout}/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

type UmlRun = GuestOptions & { timeoutMs: number; cwd: string };

async function inUserModeLinux(linux: string, script: string, options: UmlRun): Promise<ScriptResult> {
  using temp = tempFolder();
  const job = temp.path;
  const init = join(job, "init");
  await copyFile(fileURLToPath(new URL("guest-init.sh", import.meta.url)), init);
  await chmod(init, 0o755);
  await writeFile(join(job, "script"), script);
  await writeFile(join(job, "settings"), await settings(options));
  const { memory = "1024M", timeoutMs } = options;
  const parameters = [`nckubelet_job=${job}`];
  const booted = await bootUserModeLinux({
    linux,
    root: { folder: "/" },
    init,
    memory,
    parameters,
    timeoutMs,
  });
  if (booted.timedOut) return { code: 124, output: booted.output, timedOut: true };
  const code = await readFile(join(job, "code"), "utf8").catch((cause) => {
    const told = `${booted.output}\n${booted.console}`.trim().slice(-4000);
    throw new Error(`the guest halted without an exit code; it said:\n${told}`, { cause });
  });
  return { code: Number(code), output: booted.output, timedOut: false };
}

// Shell that guest-init.sh reads.
async function settings(options: UmlRun): Promise<string> {
  // A folder with files that the guest needs cannot start empty; it is part of the overlay.
  const needed = await Promise.all(
    [checkout, options.cwd, cacheDir()].map((path) => realpath(path).catch(() => path)),
  );
  const emptied = ["/tmp", "/var/tmp"].filter((dir) =>
    !needed.some((path) => `${path}/`.startsWith(`${dir}/`))
  );
  const env = {
    HOME: "/root",
    PATH: guestPath,
    CGROUP_ROOT: "/sys/fs/cgroup",
    SHARE: "/share",
    ...options.env,
  };
  return [
    `cwd=${quote(options.cwd)}`,
    `share=${quote(options.share ? await realpath(options.share) : "")}`,
    `fresh_dirs=${quote([...emptied, ...(options.hide ?? [])].join(" "))}`,
    ...Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}`),
    "",
  ].join("\n");
}

function foundGuest() {
  const guest = findGuest();
  if ("missing" in guest) throw new Error(guest.missing);
  return guest;
}

/**
 * A whole Debian machine with systemd or OpenRC, in User-Mode Linux, to test install.sh, units and reboots.
 *
 * Guarantees: each machine has a disk of its own (ext4; the image it starts from is never written), which lives
 * over its boots until `remove`. A script runs as root once all services are started, under systemd in a unit of its own; its
 * exit code and whole output come back; every process is gone when `boot` returns. Machines may run in parallel.
 * Caveats: a boot takes 3 s of CPU time (6.1: 8 s). One CPU, loopback only, no Node on the disk. What the script leaves running in
 * the background ends with its unit, as systemd does it: start services with systemctl or systemd-run. A daemon-reload there runs
 * no generators.
 */
import { copyFile, mkdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tempFolder } from "../temp-folder.ts";
import type { ScriptResult } from "./delegated-cgroup.ts";
import { findSystemdGuest, type InitSystem, type SystemdGuestParts } from "./parts.ts";
import { quote } from "./shell-quote.ts";
import { bootUserModeLinux, guestError } from "./user-mode-linux.ts";

/** Options of a boot. */
export type BootOptions = {
  /** Copied onto the disk before the script runs: the path in the guest, and the host's file. */
  files?: Record<string, string>;
  /** Added to the script's environment. */
  env?: Record<string, string>;
  /** A host folder that the script may write to, as /share. */
  share?: string;
  /** The machine's memory; default `"1024M"`. */
  memory?: string;
  /** After this time the power is cut and the code is 124. Default three minutes. */
  timeoutMs?: number;
  /** How it halts after the script: it stops all services ("orderly"), or halts at once ("sudden"). */
  halt?: "orderly" | "sudden";
};

/** A machine whose disk persists across boots. */
export type Machine = {
  /** Boots the machine, runs the bash script in it, and halts it. */
  boot(script: string, options?: BootOptions): Promise<ScriptResult>;
  /** Deletes the machine's disk. */
  remove(): void;
  [Symbol.dispose](): void;
};

/** Boots a new machine, runs the script in it, and discards it. */
export async function inSystemdGuest(script: string, options: BootOptions = {}): Promise<ScriptResult> {
  using machine = await createMachine();
  // Its disk is discarded, so that a graceful halt would waste time.
  return await machine.boot(script, { halt: "sudden", ...options });
}

/** Creates a machine that has never booted. */
export async function createMachine({ init = "systemd" }: { init?: InitSystem } = {}): Promise<Machine> {
  const parts = findSystemdGuest();
  if ("missing" in parts) throw new Error(parts.missing);
  const { path: dir, remove } = tempFolder();
  return {
    boot: (script, options = {}) => boot(parts, init, dir, script, options),
    remove,
    [Symbol.dispose]: remove,
  };
}

async function boot(
  { kernel, disks }: SystemdGuestParts,
  init: InitSystem,
  dir: string,
  script: string,
  options: BootOptions,
): Promise<ScriptResult> {
  const job = join(dir, "job");
  await rm(job, { recursive: true, force: true });
  await mkdir(job);
  await copyFile(fileURLToPath(new URL("systemd-guest-init.sh", import.meta.url)), join(job, "init"));
  await writeFile(join(job, "script"), script);
  await writeFile(join(job, "settings"), await settings(options));
  const { output, console, timedOut } = await bootUserModeLinux({
    kernel,
    root: { base: disks[init], changes: join(dir, "disk") },
    init: init === "systemd" ? "/lib/systemd/systemd" : "/sbin/init",
    memory: options.memory ?? "1024M",
    // Its own lines show that it lives before and after the job.
    parameters: [`nckubelet_job=${job}`, "systemd.show_status=1"],
    timeoutMs: options.timeoutMs ?? 180_000,
  });
  if (timedOut) return { code: 124, output, timedOut };
  const code = await readFile(join(job, "code"), "utf8").catch(() => undefined);
  if (code === undefined) {
    throw guestError("the machine halted without an exit code", `${output}\n${console}`);
  }
  return { code: Number(code), output, timedOut };
}

// Shell that systemd-guest-init.sh reads.
async function settings(options: BootOptions): Promise<string> {
  const copies = await Promise.all(
    Object.entries(options.files ?? {}).map(async ([guestPath, hostPath]) => {
      const source = quote(`/run/host${await realpath(hostPath)}`);
      return `  mkdir -p ${quote(dirname(guestPath))} && cp -a ${source} ${quote(guestPath)}`;
    }),
  );
  const env = { HOME: "/root", SHARE: "/share", ...options.env };
  return [
    `share=${quote(options.share ? await realpath(options.share) : "")}`,
    `halt=${options.halt ?? "orderly"}`,
    `copy_files() {`,
    ...copies,
    "  :",
    `}`,
    ...Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}`),
    "",
  ].join("\n");
}

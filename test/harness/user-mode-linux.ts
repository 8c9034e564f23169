/**
 * Boots User-Mode Linux, a Linux kernel that runs as a process, on a folder or a disk image of this machine.
 *
 * Guarantees: the guest has its own PID namespace, so killing it ends every process it is made of
 * (the kernel and the stubs that carry its programs); it ends when this process ends, even by SIGKILL. When
 * `bootUserModeLinux` returns, all of them are gone. Guests do not see each other and may run in parallel.
 * Caveats: one CPU, loopback only, no /proc/pressure. The kernel splits its parameters at spaces, so no path
 * given here may hold one.
 */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import type { Readable } from "node:stream";
import { tempFolder } from "../temp-folder.ts";

/** What to boot. */
export type Boot = {
  /** The kernel's executable. */
  linux: string;
  /** The guest's root: a host folder, which it only reads, or a disk that it writes. */
  root: { folder: string } | Disk;
  /** The first program, as a path inside the guest. */
  init: string;
  /** In the kernel's format: `"1024M"`. Allocated on the host only as the guest uses it. */
  memory: string;
  /** More kernel parameters. */
  parameters?: string[];
  /** The guest is killed after this time. */
  timeoutMs: number;
};

/** A disk image that stays unchanged, and the file that receives the guest's writes. */
export type Disk = { base: string; changes: string };

/** The output of the guest: `output` from its first serial line, `console` from the kernel. */
export type Booted = { output: string; console: string; timedOut: boolean };

/** Boots the guest and waits until it has halted, or was killed at its time limit. */
export async function bootUserModeLinux(boot: Boot): Promise<Booted> {
  using temp = tempFolder();
  const dir = temp.path;
  return await run(boot, dir);
}

function run(boot: Boot, dir: string): Promise<Booted> {
  const kernel = [
    boot.linux,
    `mem=${boot.memory}`,
    ...rootParameters(boot.root),
    `init=${boot.init}`,
    "con=null",
    "con0=null,fd:1",
    "ssl=null",
    "ssl0=null,fd:3",
    `uml_dir=${dir}/`,
    "umid=guest",
    "quiet",
    ...(boot.parameters ?? []),
  ];
  const namespace = ["unshare", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"])];
  const child = spawn(
    "setpriv",
    ["--pdeathsig", "KILL", ...namespace, "--pid", "--fork", "--kill-child=KILL", ...kernel],
    { stdio: ["ignore", "pipe", "pipe", "pipe"], env: { PATH: process.env.PATH } },
  );
  const console = [collect(child.stdout!), collect(child.stderr!)];
  const output = collect(child.stdio[3] as Readable);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    endNamespace(child.pid!);
  }, boot.timeoutMs);
  return new Promise((resolve, reject) => {
    child.on(
      "error",
      (cause) => reject(new Error(`cannot start ${boot.linux}: ${cause.message}`, { cause })),
    );
    // Every process of the guest holds the pipes: "close" comes when the last one is gone.
    child.on("close", () => {
      clearTimeout(timer);
      resolve({ output: output(), console: console.map((text) => text()).join(""), timedOut });
    });
  });
}

function rootParameters(root: Boot["root"]): string[] {
  if ("folder" in root) return ["root=/dev/root", "rootfstype=hostfs", `rootflags=${root.folder}`, "ro"];
  return [`ubd0=${root.changes},${root.base}`, "root=/dev/ubda", "rootfstype=ext4", "rw"];
}

// unshare waits for the namespace's first process, whose end waits for all others: killing it, not unshare,
// leaves nothing, not even a zombie, when unshare has ended.
function endNamespace(unshare: number): void {
  const [first] = readFileSync(`/proc/${unshare}/task/${unshare}/children`, "utf8").trim().split(" ");
  process.kill(Number(first) || unshare, "SIGKILL");
}

function collect(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

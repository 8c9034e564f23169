/**
 * Boots User-Mode Linux, a Linux kernel that runs as a process, on a folder or a disk image of this machine.
 *
 * Guarantees: the guest has its own PID namespace, so killing it ends every process it is made of
 * (the kernel and the stubs that carry its programs); it ends when this process ends, even by SIGKILL. When
 * `bootUserModeLinux` returns, all of them are gone. Guests do not see each other and may run in parallel. A guest that panics, or
 * that says nothing for a minute, is killed at once and is an error with the last lines it said: its init must print now and then.
 * Caveats: one CPU, loopback only, no /proc/pressure. The kernel splits its parameters at spaces, so no path
 * given here may hold one.
 */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import type { Readable } from "node:stream";
import { tempFolder } from "../temp-folder.ts";
import type { Kernel } from "./kernels.ts";

/** What to boot. */
export type Boot = {
  kernel: Kernel;
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
  /** A guest that says nothing for this time hangs. Default a minute. */
  silenceMs?: number;
};

/** A disk image that stays unchanged, and the file that receives the guest's writes. */
export type Disk = { base: string; changes: string };

/** The output of the guest: `output` from its first serial line, `console` from the kernel. */
export type Booted = { output: string; console: string; timedOut: boolean };

/** Boots the guest and waits until it has halted, or was killed at its time limit. */
export async function bootUserModeLinux(boot: Boot): Promise<Booted> {
  using temp = tempFolder();
  return await run(boot, temp.path);
}

function run(boot: Boot, dir: string): Promise<Booted> {
  const { kernel, silenceMs = 60_000 } = boot;
  const namespace = ["unshare", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"])];
  const child = spawn(
    "setpriv",
    [
      ...["--pdeathsig", "KILL", ...namespace, "--pid", "--fork", "--kill-child=KILL"],
      // The first process of a namespace cannot abort, so a kernel in its place would spin after a panic. When it aborts, it signals
      // its process group.
      ...["sh", "-c", 'setsid --wait "$@"; exit $?', "sh"],
      ...kernelCommand(boot, dir),
    ],
    // The kernel does not start without HOME.
    { stdio: ["ignore", "pipe", "pipe", "pipe"], env: { PATH: process.env.PATH, HOME: dir } },
  );
  const streams = [child.stdout!, child.stderr!, child.stdio[3] as Readable];
  const [console, errors, output] = streams.map(collect) as [() => string, () => string, () => string];
  const said = () => `${output()}\n${console()}${errors()}`;
  let ended: "timed out" | "silent" | undefined;
  const kill = (why: typeof ended) => {
    ended ??= why;
    endNamespace(child.pid!);
  };
  const limit = setTimeout(() => kill("timed out"), boot.timeoutMs);
  const silence = setTimeout(() => kill("silent"), silenceMs);
  for (const stream of streams) stream.on("data", () => silence.refresh());
  return new Promise((resolve, reject) => {
    child.on(
      "error",
      (cause) => reject(new Error(`cannot start ${kernel.linux}: ${cause.message}`, { cause })),
    );
    // Every process of the guest holds the pipes: "close" comes when the last one is gone.
    child.on("close", () => {
      clearTimeout(limit);
      clearTimeout(silence);
      const panic = /Kernel panic - not syncing: .*/.exec(console() + errors())?.[0];
      if (panic) return reject(guestError(`the guest panicked: ${panic}`, said()));
      if (ended === "silent") {
        return reject(guestError(`the guest hangs: it said nothing for ${silenceMs / 1000} s`, said()));
      }
      resolve({ output: output(), console: console() + errors(), timedOut: ended === "timed out" });
    });
  });
}

/** Returns an error with the last lines that a guest said. */
export function guestError(what: string, said: string): Error {
  return new Error(`${what}; its last lines:\n${said.trim().slice(-4000) || "(none)"}`);
}

function kernelCommand({ kernel, root, init, memory, parameters = [] }: Boot, dir: string): string[] {
  return [
    kernel.linux,
    `mem=${memory}`,
    ...rootParameters(root),
    `init=${init}`,
    "con=null",
    "con0=null,fd:1",
    "ssl=null",
    "ssl0=null,fd:3",
    `uml_dir=${dir}/`,
    "umid=guest",
    "quiet",
    // In 7.2, mappings of io_uring break fork: Node hangs, or the kernel panics. Older kernels have no io_uring to disable.
    "sysctl.kernel.io_uring_disabled=2",
    ...kernel.parameters,
    ...parameters,
  ];
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

/**
 * A mount that hangs: a FUSE file system over a folder, whose program a test pauses. Root only.
 *
 * Guarantees: at the end of the block the mount and its program are gone, whatever they were doing.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { waitFor } from "../wait-for.ts";
import { skipUnless } from "./parts.ts";

export interface HungMount extends AsyncDisposable {
  /** Where it is mounted. */
  path: string;
  /** The folder that it shows; reachable even while the mount hangs. */
  behind: string;
  /**
   * From now on no operation on the mount returns. None is under way then: the kernel cannot kill a thread that waits for the answer
   * to a request which the program has read, and with it the process of that thread.
   */
  hang(): Promise<void>;
  answer(): void;
}

/** Why a test that needs such a mount cannot run here, or false. */
export function skipWithoutFuse(): string | false {
  if (process.getuid?.() !== 0 || !existsSync("/dev/fuse")) return "this machine has no /dev/fuse for us";
  return skipUnless("fuse");
}

export async function createHungMount(folder: string): Promise<HungMount> {
  const [path, behind, control] = ["mount", "behind", "control"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [path, behind, control]) mkdirSync(each);
  // Without caches, the kernel passes each operation on.
  const options = "attr_timeout=0,entry_timeout=0,negative_timeout=0";
  const child = spawn("bindfs", ["-f", "-o", options, behind, path], { stdio: "ignore" });
  const ended = once(child, "exit");
  // Not child.kill: Deno's sends one signal only.
  const signal = (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) process.kill(child.pid!, name);
  };
  await waitFor("the mount", () => readFileSync("/proc/self/mounts", "utf8").includes(` ${path} fuse`));
  execFileSync("mount", ["-t", "fusectl", "fusectl", control]);
  // The kernel names the connection of a mount by the minor number of its device.
  const { dev } = statSync(path);
  const waiting = join(control, String((dev & 0xff) | (dev >>> 12 & 0xfff00)), "waiting");
  return {
    path,
    behind,
    async hang() {
      await waitFor("no request is under way", () => {
        signal("SIGSTOP");
        if (!isStopped(child.pid!)) return false;
        if (Number(readFileSync(waiting, "utf8")) === 0) return true;
        signal("SIGCONT");
        return false;
      });
    },
    answer: () => signal("SIGCONT"),
    async [Symbol.asyncDispose]() {
      signal("SIGCONT");
      execFileSync("umount", [control]);
      execFileSync("fusermount3", ["-uz", path]);
      // It ends by itself when nothing uses the mount any more.
      signal("SIGKILL");
      await ended;
    },
  };
}

/** Reports whether all threads of a process have stopped. */
function isStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).every((task) => / T /.test(readFileSync(`${tasks}/${task}/stat`, "utf8")));
}

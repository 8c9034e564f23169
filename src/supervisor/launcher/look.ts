/**
 * Looks at paths that users name, with the rights of a user, by a process of that user which stays for the next look (`launcher look`).
 *
 * Guarantees:
 * - What the user may not read is not read, whatever the path leads to by then: what is seen may be shown to that user. Nothing but
 *   regular files is opened.
 * - No thread of this process touches the path. A look ends within `timeoutMs` with a FileTimeoutError.
 * - A path that hangs delays others by `slowMs` at most, and only the first time: its process is left to it, and another one serves the
 *   rest. Its next look gets a process of its own at once.
 * - There is at most one process per hung path and user, even if the kernel cannot kill it.
 * - An idle process ends after `idleMs`, and with this process.
 */
import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:fs";
import { getSystemErrorName } from "node:util";
import { FileTimeoutError, fileTimeoutMs } from "../../lib/deadlines/deadlines.ts";
import { encodeFields } from "./request.ts";
import type { Look, UserFiles } from "./types.ts";

export interface Looker {
  look: UserFiles["look"];
  /** Ends the idle processes. */
  close(): void;
}

export interface LookerOptions {
  /** The command line of `launcher look`, without the user. */
  command: () => string[];
  timeoutMs?: number;
  idleMs?: number;
}

interface Request {
  user: string;
  path: string;
  label: string;
  /** Those who get the answer. */
  asked: ((answer: Look | Error) => void)[];
}

/** A process of a user, which serves one request at a time. */
interface Eye {
  user: string;
  child: ChildProcess;
  /** Receives the answer, or undefined if the process ended without one. */
  onAnswer?: (answer: Look | undefined) => void;
}

/** After this time, a look no longer keeps others waiting. */
const slowMs = 50;

export function createLooker(
  { command, timeoutMs = fileTimeoutMs, idleMs = 10_000 }: LookerOptions,
): Looker {
  const queue: Request[] = [];
  /** By user and path: what did not answer the last time, and whether the process of that look still exists. */
  const hung = new Map<string, { eyeLives: boolean }>();
  /** By user. */
  const idle = new Map<string, { eye: Eye; timer: NodeJS.Timeout }>();
  let busy = false;

  const takeIdle = (user: string) => {
    const found = idle.get(user);
    clearTimeout(found?.timer);
    idle.delete(user);
    return found?.eye;
  };
  const takeEye = (user: string) =>
    takeIdle(user) ?? startEye(command(), user, (ended) => {
      if (idle.get(user)?.eye === ended) takeIdle(user);
    });
  const returnEye = (eye: Eye) => {
    if (idle.has(eye.user)) return endEye(eye);
    const timer = setTimeout(() => {
      idle.delete(eye.user);
      endEye(eye);
    }, idleMs);
    timer.unref();
    idle.set(eye.user, { eye, timer });
  };

  const serve = ({ user, path, label, asked }: Request, onEnd: () => void) => {
    const eye = takeEye(user);
    const done = (answer: Look | Error) => asked.forEach((settle) => settle(answer));
    const timer = setTimeout(() => {
      const entry = { eyeLives: true };
      hung.set(keyOf(user, path), entry);
      eye.child.once("exit", () => entry.eyeLives = false);
      eye.onAnswer = undefined;
      eye.child.kill("SIGKILL");
      done(new FileTimeoutError(label, timeoutMs));
      onEnd();
    }, timeoutMs);
    eye.onAnswer = (answer) => {
      clearTimeout(timer);
      eye.onAnswer = undefined;
      hung.delete(keyOf(user, path));
      if (answer) returnEye(eye);
      done(answer ?? new Error(`${label}: the process that looks at it has ended`));
      onEnd();
    };
    eye.child.stdin?.write(encodeFields([path])!);
  };

  /** Serves the queue, one request after the other. */
  const pump = () => {
    const request = busy ? undefined : queue.shift();
    if (!request) return;
    busy = true;
    let isOurs = true;
    const next = () => {
      clearTimeout(slow);
      if (!isOurs) return;
      isOurs = busy = false;
      pump();
    };
    const slow = setTimeout(next, slowMs);
    serve(request, next);
  };

  return {
    look(path, { user, label, signal }) {
      return new Promise((resolve, reject) => {
        if (path.includes("\0")) return resolve({ ...nothing, error: "ENOENT" });
        const known = hung.get(keyOf(user, path));
        if (known?.eyeLives) return reject(new FileTimeoutError(label, timeoutMs));
        const onAbort = () => reject(signal?.reason);
        if (signal?.aborted) return onAbort();
        signal?.addEventListener("abort", onAbort, { once: true });
        const done = (answer: Look | Error) => {
          signal?.removeEventListener("abort", onAbort);
          if (answer instanceof Error) reject(answer);
          else resolve(answer);
        };
        if (known) return serve({ user, path, label, asked: [done] }, () => {});
        // Apps that start together often have the same script.
        const waiting = queue.find((each) =>
          each.user === user && each.path === path && each.label === label
        );
        if (waiting) return void waiting.asked.push(done);
        queue.push({ user, path, label, asked: [done] });
        pump();
      });
    },
    close() {
      for (const user of [...idle.keys()]) endEye(takeIdle(user)!);
    },
  };
}

function keyOf(user: string, path: string): string {
  return `${user} ${path}`;
}

function startEye([file = "", ...args]: string[], user: string, onEnd: (eye: Eye) => void): Eye {
  const child = spawn(file, [...args, user], { cwd: "/", env: {}, stdio: ["pipe", "pipe", "ignore"] });
  const eye: Eye = { user, child };
  let received = Buffer.alloc(0);
  const end = () => {
    onEnd(eye);
    eye.onAnswer?.(undefined);
  };
  child.on("error", end).on("exit", end);
  child.stdin.on("error", () => {});
  child.stdout.on("data", (chunk: Uint8Array) => {
    received = Buffer.concat([received, chunk]);
    const answer = readAnswer(received);
    if (answer === undefined) return;
    received = Buffer.alloc(0);
    eye.onAnswer?.(answer);
  });
  // Timers keep this process alive while it waits for an answer; an idle process must not.
  const handles = child.pid === undefined ? [] : [child, child.stdin, child.stdout];
  for (const handle of handles) (handle as { unref?: () => void }).unref?.();
  return eye;
}

function endEye({ child }: Eye): void {
  child.stdin?.end();
}

const headerBytes = 12;
const nothing: Look = { kind: "missing", executable: false, head: new Uint8Array() };

/** The answer of `launcher look`; undefined while a part of it is missing. */
function readAnswer(bytes: Buffer): Look | undefined {
  if (bytes.length < headerBytes || bytes.length < headerBytes + bytes.readUInt32LE(8)) return undefined;
  const [error, mode] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
  const type = mode & constants.S_IFMT;
  const kinds: Record<number, Look["kind"]> = {
    0: "missing",
    [constants.S_IFREG]: error ? "unreadable" : "file",
    [constants.S_IFDIR]: "folder",
  };
  return {
    kind: kinds[type] ?? "other",
    executable: (mode & 1) !== 0,
    head: bytes.subarray(headerBytes),
    ...(error ? { error: getSystemErrorName(-error) } : {}),
  };
}

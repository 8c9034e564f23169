/**
 * `node:fs/promises` without its thread pool: the same system calls on the same files, made at once in the calling thread. A case that
 * reads a few small files spends most of its time on the way to the pool and back, many times what the calls themselves take.
 *
 * Guarantees: flags, modes, positions and errors are the kernel's, as usual.
 * Caveats: concurrent operations run one after the other. Only what the targets need is here: another function goes
 * through the pool as usual, another method of an open file is a TypeError. Works on Node, where the long run is; the short pass of
 * the unit tests has the real thing.
 */
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

/** Makes all modules, even loaded ones, read and write files in this thread; the returned function undoes it. */
export function useDirectFiles(): () => void {
  const before = { ...promises };
  Object.assign(promises, directFiles);
  syncBuiltinESMExports();
  return () => {
    Object.assign(promises, before);
    syncBuiltinESMExports();
  };
}

/** The replacements of the functions of the same names. */
export const directFiles = {
  open: async (...how: Parameters<typeof fs.openSync>) => new DirectFile(fs.openSync(...how)),
  chmod: atOnce(fs.chmodSync),
  chown: atOnce(fs.chownSync),
  lstat: atOnce(fs.lstatSync),
  mkdir: atOnce(fs.mkdirSync),
  readdir: atOnce(fs.readdirSync),
  rm: atOnce(fs.rmSync),
  stat: atOnce(fs.statSync),
};

function atOnce(call: (...given: never[]) => unknown) {
  return async (...given: never[]) => call(...given);
}

/** The part of `FileHandle` that the targets need. */
class DirectFile {
  readonly fd: number;

  constructor(fd: number) {
    this.fd = fd;
  }

  async stat() {
    return fs.fstatSync(this.fd);
  }

  async read(buffer: Uint8Array, ...where: [offset: number, length: number, position: number]) {
    return { bytesRead: fs.readSync(this.fd, buffer, ...where), buffer };
  }

  async readFile(encoding?: "utf8") {
    return fs.readFileSync(this.fd, { encoding });
  }

  async writeFile(content: string | Uint8Array) {
    fs.writeFileSync(this.fd, content);
  }

  async chmod(mode: number) {
    fs.fchmodSync(this.fd, mode);
  }

  async close() {
    fs.closeSync(this.fd);
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }
}

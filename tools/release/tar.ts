/** Writes tar archives (ustar): sorted, all of root, all with one time, so that the same files give the same bytes. Pure. */
import { Buffer } from "node:buffer";

export interface TarEntry {
  /** Relative, at most 100 bytes; a folder ends with a slash. */
  path: string;
  data?: string | Buffer;
  /** The target of a symbolic link. */
  link?: string;
  mode?: number;
}

const block = 512;

/** `time` is in seconds since 1970. Folders above an entry must be entries of their own where they matter. */
export function writeTar(entries: readonly TarEntry[], time: number): Buffer {
  const sorted = [...entries].sort((one, other) => one.path < other.path ? -1 : 1);
  const parts = sorted.flatMap(({ path, data = "", link, mode }) => {
    const content = Buffer.from(data as string);
    const isFolder = path.endsWith("/");
    const head = header({
      path,
      size: content.length,
      link,
      mode: mode ?? (isFolder ? 0o755 : link === undefined ? 0o644 : 0o777),
      type: isFolder ? "5" : link === undefined ? "0" : "2",
      time,
    });
    return [head, content, Buffer.alloc((block - content.length % block) % block)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function header(
  { path, size, link = "", mode, type, time }: {
    path: string;
    size: number;
    link?: string;
    mode: number;
    type: string;
    time: number;
  },
): Buffer {
  for (const name of [path, link]) {
    if (Buffer.byteLength(name) > 100) {
      throw new Error(`${name}: more than 100 bytes do not fit into a tar header`);
    }
  }
  const head = Buffer.alloc(block);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  head.write(path, 0);
  head.write(octal(mode, 7), 100);
  head.write(octal(0, 7), 108);
  head.write(octal(0, 7), 116);
  head.write(octal(size, 11), 124);
  head.write(octal(time, 11), 136);
  head.fill(" ", 148, 156);
  head.write(type, 156);
  head.write(link, 157);
  head.write("ustar\0" + "00", 257);
  head.write(`${octal(head.reduce((sum, byte) => sum + byte, 0), 6)}\0`, 148);
  return head;
}
